import { createHash, createHmac, randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import { isReadableByOthers } from '@penstock/config/secret-file.ts'

const LABEL = 'penstock/hold/v1'
const KEY = /^[0-9a-f]{64}$/

type KeyFile = { readonly current: string; readonly keys: Readonly<Record<string, string>> }

/**
 * Keys in `keyring.json` of the data folder. The first start creates the file, which only its owner can read. To rotate keys, an
 * operator adds a key and makes it `current`; the old keys stay, because open holds use them. A process keeps the keys that it
 * has read. It reads the file again for an unknown key, because a process with a newer file may have made a hold with that key.
 * @param scope separates the hashes of two networks, or of two markets on one network
 * @throws Error for a file that is not a keyring, because new keys would strand every open hold
 */
export function fileKeyring(dataDir: string, scope: { readonly network: string; readonly environment: string }): Keyring {
  const path = join(dataDir, 'keyring.json')
  const { current, ...known } = readKeys(path) ?? createKeyFile(dataDir, path)
  let { keys } = known

  const preimageOf = (keyId: string, orderId: string, issue: number): string => {
    if (keys[keyId] === undefined) keys = { ...readAddedKeys(path), ...keys }
    const key = keys[keyId]
    if (key === undefined) throw new Fault(`the keyring has no key "${keyId}"; put it back, an open hold was made with it`)
    // A JSON array keeps the parts separate, whatever characters they contain.
    const hmacInput = JSON.stringify([LABEL, scope.network, scope.environment, orderId, issue])
    return createHmac('sha256', Buffer.from(key, 'hex')).update(hmacInput).digest('hex')
  }
  return {
    preimageOf,
    paymentHashOf: (orderId, issue) => ({
      keyId: current,
      paymentHash: createHash('sha256')
        .update(Buffer.from(preimageOf(current, orderId, issue), 'hex'))
        .digest('hex'),
    }),
  }
}

/** @throws Fault if the file cannot be read or is not a keyring, perhaps because it is being written */
function readAddedKeys(path: string): KeyFile['keys'] {
  try {
    return readKeys(path)?.keys ?? {}
  } catch (error) {
    throw new Fault('the keyring cannot be read again', { cause: error })
  }
}

function readKeys(path: string): KeyFile | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  // A mounted secret is read-only and already private.
  if (isReadableByOthers(statSync(path))) chmodSync(path, 0o600)
  // The text contains the keys, so no error may include it.
  const file = parseKeyFile(text)
  if (!file)
    throw new Error(
      `${path} is not a keyring ({"current": id, "keys": {id: 64 hex digits}}); put back the copy that open holds were made with`,
    )
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

/**
 * Writes a temporary file and links it into place, so that neither a crash nor a second process leaves a partial or a second
 * keyring.
 */
function createKeyFile(dataDir: string, path: string): KeyFile {
  mkdirSync(dataDir, { recursive: true })
  const id = randomBytes(4).toString('hex')
  const temporaryPath = `${path}.${id}`
  const file = openSync(temporaryPath, 'wx', 0o600)
  writeSync(file, `${JSON.stringify({ current: id, keys: { [id]: randomBytes(32).toString('hex') } })}\n`)
  fsyncSync(file)
  closeSync(file)
  try {
    linkSync(temporaryPath, path)
  } catch (error) {
    // Another process created the keyring first, so its file counts.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    rmSync(temporaryPath)
  }
  const folder = openSync(dataDir, 'r')
  fsyncSync(folder)
  closeSync(folder)
  const keys = readKeys(path)
  if (!keys) throw new Bug(`${path} is missing after its creation`)
  return keys
}
