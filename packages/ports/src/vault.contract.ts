import fc from 'fast-check'
import { Bug } from '@penstock/kernel/result.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Opener, Sealer } from './vault.ts'

type Vault = { readonly sealer: Sealer; readonly opener: Opener }

/** Cases that every pair of sealer and opener must pass. */
export function vaultContract(name: string, create: () => Vault): void {
  describe(`vault: ${name}`, () => {
    let vault: Vault
    beforeEach(() => void (vault = create()))
    const id = '018f3c1e-0000-7000-8000-000000000001'
    const seal = (secret: string, recordId = id) => vault.sealer.seal(recordId, 'webhook-secret', secret)
    const open = (sealed: string, recordId = id) => vault.opener.open(recordId, 'webhook-secret', sealed)

    it('opens a sealed text of any content', async () => {
      for (const secret of ['', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'é 🦫\u0000\n"', 'x'.repeat(100_000)])
        expect(await open(await seal(secret))).toBe(secret)
      await fc.assert(
        fc.asyncProperty(fc.string(), fc.string(), async (secret, recordId) => {
          expect(await open(await seal(secret, recordId), recordId)).toBe(secret)
        }),
        { numRuns: 20 },
      )
    })

    it('gives a JSON text without the secret, with the id of its key', async () => {
      const sealed = await seal('whsec_hidden')
      expect(JSON.parse(sealed)).toMatchObject({ keyId: expect.stringMatching(/./) as string })
      for (const hidden of ['whsec_hidden', 'hidden', Buffer.from('whsec_hidden').toString('base64url').slice(0, 12)])
        expect(sealed).not.toContain(hidden)
    })

    it('opens a text only for its own record and kind', async () => {
      const sealed = await seal('secret')
      await expect(open(sealed, `${id}1`)).rejects.toThrow(Bug)
      await expect(vault.opener.open(id, 'macaroon', sealed)).rejects.toThrow(Bug)
    })

    it('refuses a changed or damaged text, and the error contains no part of it', async () => {
      const sealed = await seal('a secret of some length')
      const parts = JSON.parse(sealed) as Record<string, string> // every vault writes texts
      const changed = Object.entries(parts)
        .filter(([key]) => key !== 'keyId')
        .map(([key, text]) => JSON.stringify({ ...parts, [key]: `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}` }))
      for (const text of ['', '{}', 'null', '[]', sealed.slice(0, -1), JSON.stringify({ keyId: parts['keyId'] }), ...changed]) {
        const error: unknown = await open(text).catch((thrown: unknown) => thrown)
        expect(error).toBeInstanceOf(Bug)
        for (const part of Object.values(parts)) expect(String(error)).not.toContain(part.slice(0, 40))
      }
    })
  })
}
