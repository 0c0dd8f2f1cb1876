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
import { othersMayRead } from '@penstock/runtime/secret-file.ts'

const LABEL = 'penstock/hold/v1'
const KEY = /^[0-9a-f]{64}$/

type KeyFile = { readonly current: string; readonly keys: Readonly<Record<string, string>> }

/**
 * Keys in `keyring.json` of the data folder, readable by its owner alone, made at the first start. To change keys an
 * operator adds one and names it `current`; the old ones stay, since open holds were made with them. What a process has read
 * it keeps. A key that it does not know it looks for again: another one, started since, has made a hold with it.
 * @param scope what keeps the hashes of two networks, or of two markets on one network, apart
 * @throws Error for a file that is no keyring: going on with new keys would strand every open hold
 */
export function fileKeyring(dataDir: string, scope: { readonly network: string; readonly environment: string }): Keyring {
  const path = join(dataDir, 'keyring.json')
  const { current, ...known } = readKeys(path) ?? makeKeys(dataDir, path)
  let { keys } = known

  const preimageOf = (keyId: string, orderId: string, issue: number): string => {
    if (keys[keyId] === undefined) keys = { ...addedKeys(path), ...keys }
    const key = keys[keyId]
    if (key === undefined) throw new Fault(`the keyring has no key "${keyId}"; put it back, an open hold was made with it`)
    // A JSON array: no part can run into its neighbour, whatever characters it has.
    const about = JSON.stringify([LABEL, scope.network, scope.environment, orderId, issue])
    return createHmac('sha256', Buffer.from(key, 'hex')).update(about).digest('hex')
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

/** @throws Fault where the file is not there or no keyring, perhaps since it is being written */
function addedKeys(path: string): KeyFile['keys'] {
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
  // A mounted secret is read-only, and right as it is.
  if (othersMayRead(statSync(path))) chmodSync(path, 0o600)
  // The text itself never goes into an error.
  const file = parsed(text)
  if (!file)
    throw new Error(
      `${path} is no keyring ({"current": id, "keys": {id: 64 hex digits}}); put back the copy that the open holds were made with`,
    )
  return file
}

function parsed(text: string): KeyFile | undefined {
  try {
    const { current, keys } = JSON.parse(text) as Partial<KeyFile> // every part is looked at below
    const good =
      typeof current === 'string' &&
      typeof keys === 'object' &&
      Object.values(keys).every((key) => KEY.test(key)) &&
      Object.hasOwn(keys, current)
    return good ? { current, keys } : undefined
  } catch {
    return undefined
  }
}

/** Written beside and linked into place, so that neither a crash nor a second process leaves half a keyring or two. */
function makeKeys(dataDir: string, path: string): KeyFile {
  mkdirSync(dataDir, { recursive: true })
  const id = randomBytes(4).toString('hex')
  const beside = `${path}.${id}`
  const file = openSync(beside, 'wx', 0o600)
  writeSync(file, `${JSON.stringify({ current: id, keys: { [id]: randomBytes(32).toString('hex') } })}\n`)
  fsyncSync(file)
  closeSync(file)
  try {
    linkSync(beside, path)
  } catch (error) {
    // Somebody else was first: theirs counts.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    rmSync(beside)
  }
  const folder = openSync(dataDir, 'r')
  fsyncSync(folder)
  closeSync(folder)
  const keys = readKeys(path)
  if (!keys) throw new Bug(`${path} was made and is not there`)
  return keys
}
