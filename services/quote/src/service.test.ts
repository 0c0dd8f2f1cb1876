import { fundsAttestationText } from '@penstock/bitcoin/attestation.ts'
import { sign } from '@penstock/bitcoin/message-signature.ts'
import { pubkeyOf } from '@penstock/bitcoin/pubkey.ts'
import { match, offer, seller } from '@penstock/contracts/matching.ts'
import type { OrderTerms } from '@penstock/contracts/order.ts'
import { type PriceFact, quote } from '@penstock/contracts/quote.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { type Ask, ask } from '@penstock/runtime/service.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { wishOf } from '@penstock/testkit/quote-wish.ts'
import { until } from '@penstock/testkit/until.ts'
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { matching } from '../../matching/src/service.ts'
import { priceStream } from './price.ts'
import { quoting } from './service.ts'

const secret = new Uint8Array(32).fill(7)
const pubkey = pubkeyOf(secret)
const accountId = randomUUID()
const offerId = randomUUID()
const promises = {
  baseFeeSat: '500',
  feeRatePpm: 2000,
  baseFeeCapSat: '1000',
  feeRateCapPpm: 500,
  minBlockLength: 13_140,
  onchainPriority: 'LOW' as const,
  onchainMultiplier: 1,
}
const terms = {
  totalSizeSat: '9000000',
  minSizeSat: '100000',
  maxSizeSat: '5000000',
  promises,
  conditions: [],
  assetId: null,
  autoAccept: true,
}

/** Quotes and matching as they run together, with a seller who attests when told. */
async function world() {
  const { platform, store, caller } = await memoryWorld({ PENSTOCK_LIVE_SECONDS: '4', PENSTOCK_RATE_MAX_AGE_SECONDS: '3' })
  const chain = { feeRate: () => Promise.resolve(2) }
  const rates = [
    { name: 'fixed', read: () => Promise.resolve({ source: 'fixed', centsPerBtc: 10_000_000n, at: platform.clock.now() }) },
  ]
  const graph = { between: () => Promise.resolve([]) }
  const start = () => run([bind(quoting(), { rates, chain, graph }), bind(matching(), { chain, graph })], platform)
  let running = await start()
  onTestFinished(() => running.close())
  const [toMatching, toQuote] = [await caller('matching'), await caller('quote')]
  const decided = async (to: typeof toQuote, asked: Ask) => {
    const id = randomUUID()
    await to.send(asked, id)
    // Only refusals are told; what was accepted is a fact.
    return until(
      'an outcome',
      async () => to.outcomes.find(({ commandId }) => commandId === id) ?? (await store.read(`quote-${asked.id}`))[0],
    )
  }
  const attest = () => {
    const at = platform.clock.now()
    const signature = sign(secret, fundsAttestationText({ pubkey, confirmedSats: 50_000_000n, at }))
    return toMatching.send(
      ask(seller, pubkey, 'Attest', { accountId, pubkey, confirmedSat: '50000000', at, signature }),
      randomUUID(),
    )
  }
  const facts = async <F>(stream: string) =>
    (await store.read(stream)).map(({ type, data }) => ({ type, data: JSON.parse(data) as unknown }) as F) // the stream's own facts
  return {
    attest,
    facts,
    prices: () => facts<PriceFact>(`price-${priceStream(platform.clock.now())}`),
    create: () => toMatching.send(ask(offer, offerId, 'CreateOffer', { ...terms, accountId, pubkey }), randomUUID()),
    find: (id: string, need: Parameters<typeof ask<typeof match, 'FindSeller'>>[3]) =>
      toMatching.send(ask(match, id, 'FindSeller', need), randomUUID()),
    request: (id: string) =>
      decided(
        toQuote,
        ask(quote, id, 'RequestQuote', wishOf(accountId, { pubkey: pubkeyOf(new Uint8Array(32).fill(9)), sockets: [] })),
      ),
    restart: async () => {
      await running.close()
      running = await start()
    },
  }
}

test('a price follows the book, a quote has it, and what was quoted is found and reserved', async () => {
  const { attest, create, facts, find, prices, request, restart } = await world()
  await create()
  await attest()
  const first = await until('a price', async () => (await prices()).find(({ type }) => type === 'PriceSet'), 10_000)
  // The fee of a funding is read when the first offer that charges for it is seen.
  expect(first).toMatchObject({ type: 'PriceSet', data: { rate: { centsPerBtc: '10000000', samples: [{ source: 'fixed' }] } } })

  const id = randomUUID()
  expect(await request(id)).toMatchObject({ type: 'Quoted' })
  const [quoted] = await facts<{ type: string; data: { terms: OrderTerms; fundingFees: object } }>(`quote-${id}`)
  expect(quoted).toMatchObject({
    type: 'Quoted',
    data: { terms: { priceSat: '5000', candidate: { offerId } }, fundingFees: { LOW: '308' } },
  })
  const sizeSat = quoted?.data.terms.sizeSat ?? ''
  expect(BigInt(first.type === 'PriceSet' ? first.data.satsPerUsd : 0)).toBe(BigInt(sizeSat) / 5n)

  const need = {
    sizeSat,
    destination: { pubkey: pubkeyOf(new Uint8Array(32).fill(9)), sockets: [] },
    isPrivate: false,
    railsOnly: false,
    assetId: null,
    sellers: null,
    leaseBlocks: 4320,
    sellerBudgetMsat: '5000000',
    ranking: 'cheapest' as const,
  }
  const candidate = quoted?.data.terms.candidate
  if (candidate) await find(id, { attempt: 1, need, first: candidate, only: false, tried: [] })
  await until('a match', async () => (await facts<{ type: string }>(`match-${id}`)).some(({ type }) => type === 'Matched'))

  // The seller falls silent, across a restart: no price, no quote, with a sentence.
  await restart()
  await until('the price is withdrawn', async () => (await prices()).at(-1)?.type === 'PriceWithdrawn', 15_000)
  expect(await request(randomUUID())).toMatchObject({ refused: { code: 'NO_SELLER' } })
  await attest()
  await until('the price is back', async () => (await prices()).at(-1)?.type === 'PriceSet', 15_000)
})
