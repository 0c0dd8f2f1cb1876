import { command, type AddressedCommand, type CommandBody } from '@penstock/kernel/process.ts'
import { formatFundsAttestation } from '@penstock/bitcoin/attestation.ts'
import { signMessage } from '@penstock/bitcoin/message-signature.ts'
import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import type { MatchCommand, MatchTarget, OfferTarget, SellerTarget } from '@penstock/contracts/matching.ts'
import type { OrderTerms } from '@penstock/contracts/order.ts'
import type { PriceFact, QuoteTarget } from '@penstock/contracts/quote.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { createSkippableClock } from '@penstock/testkit/skippable-clock.ts'
import { createQuoteRequest } from '@penstock/testkit/quote-request.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { matchingService } from '../../matching/src/service.ts'
import { priceStreamId } from './price.ts'
import { quoteService } from './service.ts'

const secret = new Uint8Array(32).fill(7)
const pubkey = derivePubkey(secret)
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

/** A silent seller is live for this long. Only a skip of the clock ends it. */
const LIVE_SECONDS = 600

/** Runs quote and matching together, with a seller that attests on request. */
async function openFixture() {
  const clock = createSkippableClock()
  const { platform, store, caller } = await createMemoryPlatform(
    {
      PENSTOCK_LIVE_SECONDS: `${LIVE_SECONDS}`,
      PENSTOCK_RATE_MAX_AGE_SECONDS: '86400',
    },
    clock,
  )
  const chain = { feeRate: () => Promise.resolve(2) }
  const rates = [
    { name: 'fixed', read: () => Promise.resolve({ source: 'fixed', centsPerBtc: 10_000_000n, at: platform.clock.now() }) },
  ]
  const graph = { between: () => Promise.resolve([]) }
  const start = () => run([bind(quoteService(), { rates, chain, graph }), bind(matchingService(), { chain, graph })], platform)
  let running = await start()
  onTestFinished(() => running.close())
  const [toMatching, toQuote] = [await caller('matching'), await caller('quote')]
  const decide = async (to: typeof toQuote, addressed: AddressedCommand) => {
    const id = randomUUID()
    await to.send(addressed, id)
    // Only a refusal is an outcome; an accepted command is a fact.
    return waitUntil(
      'an outcome',
      async () => to.outcomes.find(({ commandId }) => commandId === id) ?? (await store.read(`quote-${addressed.id}`))[0],
    )
  }
  const attest = () => {
    const at = platform.clock.now()
    const signature = signMessage(secret, formatFundsAttestation({ pubkey, confirmedSats: 50_000_000n, at }))
    return toMatching.send(
      command<SellerTarget>('seller', pubkey, {
        type: 'Attest',
        data: { accountId, pubkey, confirmedSat: '50000000', at, signature },
      }),
      randomUUID(),
    )
  }
  const facts = async <F>(stream: string) =>
    (await store.read(stream)).map(({ type, data }) => ({ type, data: JSON.parse(data) as unknown }) as F) // the stream's own facts
  return {
    attest,
    facts,
    prices: () => facts<PriceFact>(`price-${priceStreamId(platform.clock.now())}`),
    create: () =>
      toMatching.send(
        command<OfferTarget>('offer', offerId, { type: 'CreateOffer', data: { ...terms, accountId, pubkey } }),
        randomUUID(),
      ),
    find: (id: string, need: Extract<CommandBody<MatchCommand>, { type: 'FindSeller' }>['data']) =>
      toMatching.send(command<MatchTarget>('match', id, { type: 'FindSeller', data: need }), randomUUID()),
    request: (id: string) =>
      decide(
        toQuote,
        command<QuoteTarget>('quote', id, {
          type: 'RequestQuote',
          data: createQuoteRequest(accountId, { pubkey: derivePubkey(new Uint8Array(32).fill(9)), sockets: [] }),
        }),
      ),
    skip: clock.skip,
    restart: async () => {
      await running.close()
      running = await start()
    },
  }
}

test('a price follows the book, a quote has that price, and the quoted offer is found and reserved', async () => {
  const { attest, create, facts, find, prices, request, restart, skip } = await openFixture()
  await create()
  await attest()
  const first = await waitUntil('a price', async () => {
    skip(1000)
    return (await prices()).find(({ type }) => type === 'PriceSet')
  })
  // The job reads funding fees only once the book has an offer that charges for its funding.
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
    destination: { pubkey: derivePubkey(new Uint8Array(32).fill(9)), sockets: [] },
    isPrivate: false,
    railsOnly: false,
    assetId: null,
    sellers: null,
    leaseBlocks: 4320,
    sellerBudgetMsat: '5000000',
    ranking: 'cheapest' as const,
  }
  const candidate = quoted?.data.terms.candidate
  if (candidate) await find(id, { attempt: 1, need, first: candidate, only: false, autoAccepted: true, tried: [] })
  await waitUntil('a match', async () => (await facts<{ type: string }>(`match-${id}`)).some(({ type }) => type === 'Matched'))

  // The seller falls silent across a restart: the price is withdrawn, and a quote is refused with a reason.
  await restart()
  await waitUntil('the price is withdrawn', async () => {
    skip((LIVE_SECONDS * 1000) / 20)
    return (await prices()).at(-1)?.type === 'PriceWithdrawn'
  })
  expect(await request(randomUUID())).toMatchObject({ refused: { code: 'NO_SELLER' } })
  await attest()
  await waitUntil('the price is back', async () => {
    skip(1000)
    return (await prices()).at(-1)?.type === 'PriceSet'
  })
})
