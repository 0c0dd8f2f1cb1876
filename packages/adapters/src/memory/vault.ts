import { createCipheriv, createDecipheriv, createHash, createHmac } from 'node:crypto'
import { Bug } from '@penstock/kernel/result.ts'
import type { Opener, SealedKind, Sealer } from '@penstock/ports/vault.ts'

/**
 * A vault for tests and simulations. One key seals and opens. The same secret of the same record always gives the same text, so
 * that a run can be repeated exactly.
 * @param key 32 bytes
 */
export function memoryVault(key: Uint8Array): Sealer & Opener {
  const contextOf = (recordId: string, kind: SealedKind): Buffer => Buffer.from(JSON.stringify([recordId, kind]))
  return {
    async seal(recordId, kind, secret) {
      const context = contextOf(recordId, kind)
      const nonce = createHmac('sha256', key)
        .update(createHash('sha256').update(context).digest())
        .update(secret)
        .digest()
        .subarray(0, NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(context)
      const ct = Buffer.concat([nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()])
      return JSON.stringify({ keyId: 'memory', ct: ct.toString('base64url') })
    },
    async open(recordId, kind, sealed) {
      try {
        const { ct } = JSON.parse(sealed) as { ct: string } // another text fails below
        const bytes = Buffer.from(ct, 'base64url')
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES))
          .setAAD(contextOf(recordId, kind))
          .setAuthTag(bytes.subarray(-TAG_BYTES))
        return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString()
      } catch {
        throw new Bug(`the ${kind} ${recordId} cannot be opened: it is damaged, or belongs to another record`)
      }
    },
  }
}

const NONCE_BYTES = 12
const TAG_BYTES = 16
