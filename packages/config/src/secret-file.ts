import { randomBytes, randomUUID } from 'node:crypto'
import { link, mkdir, readFile, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const SECRET_BYTES = 32

/**
 * Opens a secret of the data folder, 32 random bytes in hex. The first start creates the file, which only its owner can read.
 * @throws Error with the remedy if the file is damaged or others can read it
 */
export async function openSecret(dataDir: string, name: string): Promise<Uint8Array> {
  const path = join(dataDir, name)
  await mkdir(dataDir, { recursive: true })
  return (await readSecret(path)) ?? (await createSecret(path))
}

/** @returns undefined if the file does not exist @throws Error as `openSecret` does */
export async function readSecret(path: string): Promise<Uint8Array | undefined> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isNodeError(error, 'ENOENT')) return undefined
    throw error
  })
  if (text === undefined) return undefined
  if (isReadableByOthers(await stat(path))) throw new Error(`${path} can be read by others; run: chmod 600 ${path}`)
  if (!/^[0-9a-f]{64}\n?$/.test(text))
    throw new Error(`${path} is damaged: it has to contain 64 hex digits; restore it from a backup.`)
  return new Uint8Array(Buffer.from(text.trim(), 'hex'))
}

/**
 * Only the owner may read a file of this process's user. Another user's file, such as a secret that an orchestrator mounts,
 * may be readable by its group, because this process could not read it otherwise.
 */
export const isReadableByOthers = ({ mode, uid }: { readonly mode: number; readonly uid: number }): boolean =>
  (mode & (uid === process.getuid?.() ? 0o077 : 0o037)) !== 0

/** Writes a temporary file and links it into place, so that concurrent starts share one secret and none reads half a file. */
async function createSecret(path: string): Promise<Uint8Array> {
  const temporary = `${path}.${randomUUID()}`
  await writeFile(temporary, `${randomBytes(SECRET_BYTES).toString('hex')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  try {
    await link(temporary, path)
  } catch (error) {
    if (!isNodeError(error, 'EEXIST')) throw error
  } finally {
    await unlink(temporary)
  }
  const secret = await readSecret(path)
  if (!secret) throw new Error(`${path} was removed while it was being created`)
  return secret
}

const isNodeError = (error: unknown, code: string): boolean => error instanceof Error && 'code' in error && error.code === code
