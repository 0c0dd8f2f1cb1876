import type { webcrypto } from 'node:crypto'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { Opener, SealedKind, Sealer } from '@penstock/ports/vault.ts'
import { z } from 'zod'
import { readPrivateKeys, readPublicKeys } from './vault-files.ts'

const INFO = new TextEncoder().encode('penstock/vault/v1')

/** `enc` is the encapsulated key and `ct` is the ciphertext, both in base64url. */
const sealedText = z.object({ keyId: z.string(), enc: z.base64url(), ct: z.base64url() })

/**
 * HPKE (RFC 9180) in base mode, with X25519, HKDF-SHA256 and AES-256-GCM. The key files contain Ed25519 keys, because Helm can
 * make such pairs; they are converted to X25519 (RFC 7748, section 4.1). The library is loaded at the first use, because most
 * processes never use it.
 */
const loadCiphers = async () => {
  const [{ Aes256Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 }, { ed25519 }] = await Promise.all([
    import('@hpke/core'),
    import('@noble/curves/ed25519.js'),
  ])
  const suite = new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes256Gcm() })
  return { suite, curve: ed25519.utils }
}
let loadedCiphers: ReturnType<typeof loadCiphers> | undefined
const ciphers = (): ReturnType<typeof loadCiphers> => (loadedCiphers ??= loadCiphers())

/** Seals with the current key of a public file, which is read once. @throws Error with the remedy if the file cannot be used */
export function fileSealer(publicFile: string): Sealer {
  const { current, keys } = readPublicKeys(publicFile)
  return {
    async seal(recordId, kind, secret) {
      const { suite, curve } = await ciphers()
      const publicKey = suite.kem.deserializePublicKey(curve.toMontgomery(toBytes(keys[current])))
      const { enc, ct } = await suite.seal(
        { recipientPublicKey: await asKey(publicKey), info: INFO },
        new TextEncoder().encode(secret),
        encodeContext(recordId, kind),
      )
      return JSON.stringify({ keyId: current, enc: toBase64Url(enc), ct: toBase64Url(ct) })
    },
  }
}

/**
 * Opens with the keys of a private file. It reads the file again for an unknown key, because a process with a newer public file
 * may have sealed with that key.
 * @throws Error with the remedy if the file cannot be used
 */
export function fileOpener(privateFile: string): Opener {
  let { keys } = readPrivateKeys(privateFile)
  const findKey = (keyId: string): string => {
    if (!Object.hasOwn(keys, keyId)) keys = { ...readAddedKeys(privateFile), ...keys }
    const key = Object.hasOwn(keys, keyId) ? keys[keyId] : undefined
    if (key === undefined) throw new Fault(`the vault has no key "${keyId}"; put it back, a secret was sealed with it`)
    return key
  }
  return {
    async open(recordId, kind, sealed) {
      const { keyId, enc, ct } = parseSealed(sealed)
      const key = findKey(keyId)
      const { suite, curve } = await ciphers()
      const recipientKey = await asKey(suite.kem.deserializePrivateKey(curve.toMontgomerySecret(toBytes(key))))
      try {
        const opened = await suite.open(
          { recipientKey, info: INFO, enc: Buffer.from(enc, 'base64url') },
          Buffer.from(ct, 'base64url'),
          encodeContext(recordId, kind),
        )
        return new TextDecoder().decode(opened)
      } catch {
        throw new Bug(`the ${kind} ${recordId} cannot be opened: it is damaged, or belongs to another record`)
      }
    },
  }
}

/** @throws Fault if the file cannot be read, perhaps because it is being replaced */
function readAddedKeys(privateFile: string): Readonly<Record<string, string>> {
  try {
    return readPrivateKeys(privateFile).keys
  } catch (error) {
    throw new Fault('the private keys of the vault cannot be read again', { cause: error })
  }
}

function parseSealed(sealed: string): z.output<typeof sealedText> {
  try {
    return sealedText.parse(JSON.parse(sealed))
  } catch {
    throw new Bug('a sealed secret is damaged') // The error of the parser would contain the text.
  }
}

/** A JSON array keeps the parts separate, whatever characters they contain. */
const encodeContext = (recordId: string, kind: SealedKind): Uint8Array =>
  new TextEncoder().encode(JSON.stringify([recordId, kind]))

/** The types of the library use the global name of a browser for a key. */
const asKey = (key: Promise<unknown>): Promise<webcrypto.CryptoKey> => key as Promise<webcrypto.CryptoKey>

const toBytes = (hex: string | undefined): Uint8Array => new Uint8Array(Buffer.from(hex ?? '', 'hex'))
const toBase64Url = (bytes: ArrayBuffer): string => Buffer.from(bytes).toString('base64url')
