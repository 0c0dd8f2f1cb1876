import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { Bug } from '@penstock/kernel/result.ts'

const KEY = /^[0-9a-f]{64}$/

/** A file with named keys of 32 bytes in hex, one of them for new uses. */
export type KeyFile = { readonly current: string; readonly keys: Readonly<Record<string, string>> }

/**
 * @param complaint the end of a sentence that begins with the path of an invalid file
 * @returns undefined if the file does not exist @throws Error with the complaint
 */
export function readKeyFile(path: string, complaint: string): KeyFile | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  // The text contains the keys, so no error may include it.
  const file = parseKeyFile(text)
  if (!file) throw new Error(`${path} ${complaint}`)
  return file
}

function parseKeyFile(text: string): KeyFile | undefined {
  try {
    const { current, keys } = JSON.parse(text) as Partial<KeyFile> // every part is checked below
    const isValid =
      typeof current === 'string' &&
      typeof keys === 'object' &&
      Object.values(keys).every((key) => KEY.test(key)) &&
      Object.hasOwn(keys, current)
    return isValid ? { current, keys } : undefined
  } catch {
    return undefined
  }
}

/** A name for a new key. */
export const newKeyId = (): string => randomBytes(4).toString('hex')

/**
 * Creates a key file that only its owner can read, unless it exists. It is written beside its place and linked into place, so
 * that neither a crash nor a second process leaves a partial or a second file.
 * @returns the file in place, which another process may have created first
 */
export function createKeyFile(path: string, file: KeyFile, complaint: string): KeyFile {
  placeKeyFile(path, file, (temporaryPath) => {
    try {
      linkSync(temporaryPath, path)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    } finally {
      rmSync(temporaryPath)
    }
  })
  const created = readKeyFile(path, complaint)
  if (!created) throw new Bug(`${path} is missing after its creation`)
  return created
}

/** Replaces a key file, or creates it. A crash leaves the old file or the new one. */
export const replaceKeyFile = (path: string, file: KeyFile): void =>
  placeKeyFile(path, file, (temporaryPath) => renameSync(temporaryPath, path))

function placeKeyFile(path: string, keyFile: KeyFile, place: (temporaryPath: string) => void): void {
  mkdirSync(dirname(path), { recursive: true })
  const temporaryPath = `${path}.${newKeyId()}`
  const file = openSync(temporaryPath, 'wx', 0o600)
  writeSync(file, `${JSON.stringify(keyFile)}\n`)
  fsyncSync(file)
  closeSync(file)
  place(temporaryPath)
  const folder = openSync(dirname(path), 'r')
  fsyncSync(folder)
  closeSync(folder)
}
