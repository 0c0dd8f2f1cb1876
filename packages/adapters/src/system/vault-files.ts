import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { isReadableByOthers } from '@penstock/config/secret-file.ts'
import { createKeyFile, newKeyId, readKeyFile, replaceKeyFile, type KeyFile } from './key-file.ts'

/** The two files of a vault: the private keys, and the public keys that belong to them. */
export type VaultFiles = { readonly privateFile: string; readonly publicFile: string }

const COMPLAINT =
  'is not a file of vault keys ({"current": id, "keys": {id: 64 hex digits}}); put back the copy with which secrets were sealed'

/** @throws Error with the remedy if the file is missing or invalid, or if others can read it */
export function readPrivateKeys(path: string): KeyFile {
  const file = readKeyFile(path, COMPLAINT)
  if (!file)
    throw new Error(`${path} does not exist; mount the private keys of the vault, or make them with "penstock vault keygen".`)
  if (isReadableByOthers(statSync(path))) throw new Error(`${path} can be read by others; run: chmod 600 ${path}`)
  return file
}

/** @throws Error with the remedy if the file is missing or invalid */
export function readPublicKeys(path: string): KeyFile {
  const file = readKeyFile(path, COMPLAINT)
  if (!file)
    throw new Error(`${path} does not exist; mount the public keys of the vault, or make them with "penstock vault publish".`)
  return file
}

/** Creates both files with a first key, unless they exist. A missing public file is made from the private one. */
export function createVaultFiles({ privateFile, publicFile }: VaultFiles): void {
  const id = newKeyId()
  createKeyFile(privateFile, { current: id, keys: { [id]: newPrivateKey() } }, COMPLAINT)
  const publicKeys = derivePublicKeys(readPrivateKeys(privateFile))
  createKeyFile(publicFile, publicKeys, COMPLAINT)
}

/** Adds a key, makes it current, and writes both files. @returns the id of the new key */
export function rotateVaultFiles(files: VaultFiles): string {
  const { keys } = readPrivateKeys(files.privateFile)
  const id = newKeyId()
  replaceKeyFile(files.privateFile, { current: id, keys: { ...keys, [id]: newPrivateKey() } })
  publishVaultFile(files)
  return id
}

/** Writes the public file from the private one. */
export const publishVaultFile = ({ privateFile, publicFile }: VaultFiles): void =>
  replaceKeyFile(publicFile, derivePublicKeys(readPrivateKeys(privateFile)))

const newPrivateKey = (): string => randomBytes(32).toString('hex')

const derivePublicKeys = ({ current, keys }: KeyFile): KeyFile => ({
  current,
  keys: Object.fromEntries(Object.entries(keys).map(([id, key]) => [id, derivePublicKey(key)])),
})

/** The bytes of PKCS #8 before an Ed25519 key (RFC 8410, section 7). */
const ED25519_PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')

function derivePublicKey(privateKey: string): string {
  const pkcs8 = Buffer.concat([ED25519_PKCS8, Buffer.from(privateKey, 'hex')])
  const key = createPublicKey(createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }))
  return Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex')
}
