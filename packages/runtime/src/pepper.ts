import { randomBytes, randomUUID } from 'node:crypto'
import { link, mkdir, readFile, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pepper } from './credentials.ts'

const PEPPER_BYTES = 32

/**
 * The secret under which credentials are hashed: the file `pepper`, made at the first start, readable by its owner only.
 * Without it nobody can log in and no key works, so it belongs into every backup, apart from the databases.
 * @throws Error with what to do about it, where the file is damaged or others can read it
 */
export async function openPepper(dataDir: string): Promise<Pepper> {
  const path = join(dataDir, 'pepper')
  await mkdir(dataDir, { recursive: true })
  return (await read(path)) ?? (await make(path))
}

async function read(path: string): Promise<Pepper | undefined> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isNodeError(error, 'ENOENT')) return undefined
    throw error
  })
  if (text === undefined) return undefined
  const { mode } = await stat(path)
  if ((mode & 0o077) !== 0) throw new Error(`${path} can be read by others; run: chmod 600 ${path}`)
  if (!/^[0-9a-f]{64}\n?$/.test(text))
    throw new Error(`${path} is damaged: it has to hold 64 hex digits; restore it from a backup.`)
  return new Uint8Array(Buffer.from(text.trim(), 'hex'))
}

/** Written beside and linked into place: of two processes that start at once one wins, and nobody reads half a file. */
async function make(path: string): Promise<Pepper> {
  const beside = `${path}.${randomUUID()}`
  await writeFile(beside, `${randomBytes(PEPPER_BYTES).toString('hex')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  try {
    await link(beside, path)
  } catch (error) {
    if (!isNodeError(error, 'EEXIST')) throw error
  } finally {
    await unlink(beside)
  }
  const made = await read(path)
  if (!made) throw new Error(`${path} was removed while it was being made`)
  return made
}

const isNodeError = (error: unknown, code: string): boolean => error instanceof Error && 'code' in error && error.code === code
