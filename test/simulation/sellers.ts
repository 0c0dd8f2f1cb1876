import { DatabaseSync } from 'node:sqlite'
import type { Mortal } from '@penstock/adapters/seeded/mortal.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Log } from '@penstock/runtime/log.ts'
import { runSellerAgent } from '@penstock/seller-agent/agent.ts'
import { journalIn } from '@penstock/seller-agent/journal.ts'
import type { SellerTerms } from '@penstock/seller-agent/terms.ts'
import type { Market } from './market.ts'
import type { Seller } from './plan.ts'

/** Each asks a little more than the one before, so that the book has an order. */
export const termsOf = (index: number, { standing, isScarce }: Pick<Seller, 'standing' | 'isScarce'>): SellerTerms => ({
  totalSizeSat: isScarce ? 6_000_000n : 100_000_000n,
  minSizeSat: 100_000n,
  maxSizeSat: isScarce ? 6_000_000n : 16_000_000n,
  minBlockLength: 30,
  baseFeeSat: BigInt(200 + 50 * index),
  feeRatePpm: 2000 + 150 * index,
  baseFeeCapSat: 1n,
  feeRateCapPpm: 500,
  autoAccept: standing,
  ...(index === 1 && { onchainMultiplier: 2 }),
})

/** A seller's own file, which outlives its agent. */
export const journalFile = (): DatabaseSync => new DatabaseSync(':memory:')

type Agent = {
  readonly process: Mortal
  readonly lightning: Lightning
  readonly market: Market
  readonly file: DatabaseSync
  readonly apiKey: string
  readonly terms: SellerTerms
  readonly feeRate: (blocks: number) => Promise<number>
  readonly log: Log
}

/** The real agent as one process, with the market's doors in the place of HTTP. It runs until its process dies. */
export async function runAgent({ process, lightning, market, file, apiKey, terms, feeRate, log }: Agent): Promise<void> {
  const journal = journalIn(file)
  const { clock, ids } = process
  for (;;)
    try {
      return await runSellerAgent({
        url: 'simulated',
        post: (_, body, bearer) => post(process, market, body, bearer),
        lightning,
        journal,
        terms,
        clock,
        ids,
        log,
        apiKey,
        feeRate,
        signal: new AbortController().signal,
        pace: { pollMs: 900, watchMs: 1500, attestMs: 3000, fundsMs: 1500, firstRetryMs: 300, longestRetryMs: 5000 },
      })
    } catch (error) {
      // As its operator's supervisor would.
      log.error({ reason: String(error) }, 'an agent failed and is started again')
      await clock.sleep(1000)
    }
}

/** The way to the market, which may lose an answer. */
async function post(process: Mortal, market: Market, body: object, bearer: string | undefined): Promise<unknown> {
  const { query, variables } = body as { query: string; variables: object } // as the agent makes it
  const sent = Promise.withResolvers<unknown>()
  // Whoever asked may be dead by the time it is known.
  sent.promise.catch(() => undefined)
  await process.call(
    'market.request',
    () => void market.call((door) => door.graphql(query, variables, bearer)).then(sent.resolve, sent.reject),
    {
      fault: 'outsideFault',
    },
  )
  const answer = await sent.promise
  return process.call('market.answer', () => {
    if (process.strikes('outsideUnknown')) throw new Fault('the answer of the market was lost')
    return answer
  })
}
