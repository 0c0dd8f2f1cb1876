import { randomBytes, randomUUID } from 'node:crypto'
import { link, mkdir, readFile, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const SECRET_BYTES = 32

/**
 * A secret of the data folder, 32 random bytes in hex: made at the first start, readable by its owner only.
 * @throws Error with what to do about it, where the file is damaged or others can read it
 */
export async function openSecret(dataDir: string, name: string): Promise<Uint8Array> {
  const path = join(dataDir, name)
  await mkdir(dataDir, { recursive: true })
  return (await readSecret(path)) ?? (await make(path))
}

/** @returns undefined where there is no such file; @throws Error as `openSecret` */
export async function readSecret(path: string): Promise<Uint8Array | undefined> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isNodeError(error, 'ENOENT')) return undefined
    throw error
  })
  if (text === undefined) return undefined
  if (othersMayRead(await stat(path))) throw new Error(`${path} can be read by others; run: chmod 600 ${path}`)
  if (!/^[0-9a-f]{64}\n?$/.test(text))
    throw new Error(`${path} is damaged: it has to hold 64 hex digits; restore it from a backup.`)
  return new Uint8Array(Buffer.from(text.trim(), 'hex'))
}

/**
 * A file of our own is for nobody else. One that belongs to somebody else, as a secret that an orchestrator mounts, may be
 * read by our group: else we could not read it either.
 */
export const othersMayRead = ({ mode, uid }: { readonly mode: number; readonly uid: number }): boolean =>
  (mode & (uid === process.getuid?.() ? 0o077 : 0o037)) !== 0

/** Written beside and linked into place: of two processes that start at once one wins, and nobody reads half a file. */
async function make(path: string): Promise<Uint8Array> {
  const beside = `${path}.${randomUUID()}`
  await writeFile(beside, `${randomBytes(SECRET_BYTES).toString('hex')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  try {
    await link(beside, path)
  } catch (error) {
    if (!isNodeError(error, 'EEXIST')) throw error
  } finally {
    await unlink(beside)
  }
  const made = await readSecret(path)
  if (!made) throw new Error(`${path} was removed while it was being made`)
  return made
}

const isNodeError = (error: unknown, code: string): boolean => error instanceof Error && 'code' in error && error.code === code
