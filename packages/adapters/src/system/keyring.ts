import { createHash, createHmac, randomBytes } from 'node:crypto'
import { chmodSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '@penstock/kernel/result.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import { deriveDecisionKey, isProvenDecision } from '@penstock/config/decision-proof.ts'
import { isProvenRefund } from '@penstock/config/refund-proof.ts'
import { isReadableByOthers } from '@penstock/config/secret-file.ts'
import { createKeyFile, newKeyId, readKeyFile, type KeyFile } from './key-file.ts'

const LABEL = 'penstock/hold/v1'
const COMPLAINT =
  'is not a keyring ({"current": id, "keys": {id: 64 hex digits}}); put back the copy that open holds were made with'

/**
 * Keys in `keyring.json` of the data folder. The first start creates the file, which only its owner can read. To rotate keys, an
 * operator adds a key and makes it `current`; the old keys stay, because open holds use them. A process keeps the keys that it
 * has read. It reads the file again for an unknown key, because a process with a newer file may have made a hold with that key.
 * @param scope separates the hashes of two networks, or of two markets on one network
 * @throws Error for a file that is not a keyring, because new keys would strand every open hold
 */
export function fileKeyring(dataDir: string, scope: { readonly network: string; readonly environment: string }): Keyring {
  const path = join(dataDir, 'keyring.json')
  const { current, ...known } = readKeys(path) ?? createKeys(path)
  let { keys } = known

  const preimageOf = (keyId: string, orderId: string, issue: number): string => {
    if (keys[keyId] === undefined) keys = { ...readAddedKeys(path), ...keys }
    const key = keys[keyId]
    if (key === undefined) throw new Fault(`the keyring has no key "${keyId}"; put it back, an open hold was made with it`)
    return derivePreimage(key, orderId, issue)
  }
  const derivePreimage = (key: string, orderId: string, issue: number): string => {
    // A JSON array keeps the parts separate, whatever characters they contain.
    const hmacInput = JSON.stringify([LABEL, scope.network, scope.environment, orderId, issue])
    return createHmac('sha256', Buffer.from(key, 'hex')).update(hmacInput).digest('hex')
  }
  // An operator or another process may use a key that was added since this process has read the file.
  const isProvenByKeys = (isProvenBy: (ringKeys: readonly string[]) => boolean): boolean =>
    isProvenBy(Object.values(keys)) || isProvenBy(Object.values(readAddedKeys(path)))
  return {
    preimageOf,
    isProven: (decision, proof) => isProvenByKeys((ringKeys) => isProvenDecision(ringKeys, decision, proof)),
    isProvenRefund: (refund, proof) =>
      isProvenByKeys((ringKeys) =>
        isProvenRefund(
          ringKeys.flatMap((key) => [deriveDecisionKey(key), derivePreimage(key, refund.orderId, 1)]),
          refund,
          proof,
        ),
      ),
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
  const file = readKeyFile(path, COMPLAINT)
  // A mounted secret is read-only and already private.
  if (file && isReadableByOthers(statSync(path))) chmodSync(path, 0o600)
  return file
}

function createKeys(path: string): KeyFile {
  const id = newKeyId()
  return createKeyFile(path, { current: id, keys: { [id]: randomBytes(32).toString('hex') } }, COMPLAINT)
}
