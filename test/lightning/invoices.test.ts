import { decodePaymentRequest as decodeOurs } from '@penstock/bitcoin/bolt11.ts'
import { ambiguous, mutate, unambiguous, type Mutation } from '@penstock/bitcoin/bolt11-mutations.fixture.ts'
import type { TaggedField } from '@penstock/bitcoin/bolt11-words.ts'
import fc from 'fast-check'
import { decodePaymentRequest as decodeByLnd } from 'lightning'
import { describe, expect, it } from 'vitest'
import { isLightningMissing, useLightningServers } from './servers.ts'

describe.skipIf(isLightningMissing)('invoices', () => {
  const servers = useLightningServers({ nodes: ['payer'] })

  /** Decodes an invoice by lnd. @returns undefined if lnd refuses it */
  async function readByLnd(request: string): Promise<object | undefined> {
    const { lnd } = servers().node('payer')
    const decoded = await decodeByLnd({ lnd, request }).catch(() => undefined)
    if (!decoded) return undefined
    const { id, mtokens, destination, cltv_delta: cltvDelta, expires_at, payment, routes } = decoded
    const routeHints = (routes ?? []).length
    return {
      id,
      msat: mtokens,
      destination,
      cltvDelta,
      expiresAt: Date.parse(expires_at),
      // lnd reports zeros for none.
      hasSecret: !/^0*$/.test(payment ?? ''),
      routeHints,
    }
  }

  function readByUs(request: string): object | undefined {
    const decoded = decodeOurs(request)
    if (!decoded) return undefined
    const { paymentHash: id, payee: destination, amountMsat, cltvDelta, expiresAt, hasPaymentSecret, routeHints } = decoded
    return {
      id,
      msat: amountMsat?.toString(),
      destination,
      cltvDelta,
      expiresAt,
      hasSecret: hasPaymentSecret,
      routeHints,
    }
  }

  /** Mutations that cannot be signed are no invoices. */
  function tryMutate(mutation: Mutation): string | undefined {
    try {
      return mutate(mutation)
    } catch {
      return undefined
    }
  }

  it('are read by lnd as we read them', async () => {
    for (const mutation of unambiguous) {
      const request = mutate(mutation)
      expect({ ...mutation, read: readByUs(request) }).toEqual({ ...mutation, read: await readByLnd(request) })
    }
    for (const mutation of ambiguous) expect(readByUs(mutate(mutation))).toBeUndefined()
  })

  it('are read by lnd as we read them, whatever their fields are', async () => {
    const word = fc.integer({ min: 0, max: 31 })
    const tag = fc.constantFrom('p', 's', 'd', 'h', 'n', 'x', 'c', 'r', 'f', '9', 'm', 'q')
    const length = fc.oneof(fc.constantFrom(0, 1, 2, 33, 52, 53, 82), fc.integer({ min: 0, max: 20 }))
    const field: fc.Arbitrary<TaggedField> = length.chain((size) =>
      fc.record({ tag, words: fc.array(word, { minLength: size, maxLength: size }) }),
    )
    const change = fc.oneof(
      fc.tuple(field, fc.nat(8)).map(
        ([added, at]) =>
          (fields: readonly TaggedField[]) =>
            fields.toSpliced(at, 0, added),
      ),
      fc.tuple(field, fc.nat(8)).map(
        ([put, at]) =>
          (fields: readonly TaggedField[]) =>
            fields.toSpliced(at, 1, put),
      ),
      fc.nat(8).map((at) => (fields: readonly TaggedField[]) => fields.toSpliced(at, 1)),
      fc.tuple(fc.nat(8), fc.nat(60), word).map(([at, index, value]) => (fields: readonly TaggedField[]) => {
        const changed = fields[at]
        return changed ? fields.with(at, { ...changed, words: changed.words.toSpliced(index, 1, value) }) : fields
      }),
    )
    const changes = fc.sample(fc.array(change, { minLength: 1, maxLength: 3 }), { numRuns: 2000, seed: 11 })
    let accepted = 0
    for (const list of changes) {
      const request = tryMutate({ name: '', change: (fields) => list.reduce((all, one) => one(all), fields) })
      const ours = request === undefined ? undefined : readByUs(request)
      if (request === undefined || !ours) continue
      accepted++
      expect({ request, read: ours }).toEqual({ request, read: await readByLnd(request) })
    }
    expect(accepted).toBeGreaterThan(100)
  })
})
