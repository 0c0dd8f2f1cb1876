import { DatabaseSync } from 'node:sqlite'
import type { SimulatedProcess } from '@penstock/adapters/deterministic/faults/crash-injection.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import { runSellerAgent } from '@penstock/seller-agent/agent.ts'
import { createJournal } from '@penstock/seller-agent/journal.ts'
import type { SellerTerms } from '@penstock/seller-agent/terms.ts'
import type { SimulatedMarket } from './gateway-access.ts'
import type { PlannedSeller } from '../plan/plan.ts'

/** Creates the terms of the seller with this index. A larger index means a higher price, so that candidates have a fixed rank. */
export const createSellerTerms = (
  index: number,
  { acceptsAutomatically, isScarce }: Pick<PlannedSeller, 'acceptsAutomatically' | 'isScarce'>,
): SellerTerms => ({
  totalSizeSat: isScarce ? 6_000_000n : 100_000_000n,
  minSizeSat: 100_000n,
  maxSizeSat: isScarce ? 6_000_000n : 16_000_000n,
  minBlockLength: 30,
  baseFeeSat: BigInt(200 + 50 * index),
  feeRatePpm: 2000 + 150 * index,
  baseFeeCapSat: 1n,
  feeRateCapPpm: 500,
  autoAccept: acceptsAutomatically,
  ...(index === 1 && { onchainMultiplier: 2 }),
})

/** Creates the journal database of a seller. It survives crashes of the agent's process. */
export const createJournalFile = (): DatabaseSync => new DatabaseSync(':memory:')

type AgentOptions = {
  readonly process: SimulatedProcess
  readonly lightning: Lightning
  readonly market: SimulatedMarket
  readonly file: DatabaseSync
  readonly apiKey: string
  readonly terms: SellerTerms
  readonly feeRate: (blocks: number) => Promise<number>
  readonly log: Logger
}

/** Runs the product's seller agent in a simulated process until the process ends. It calls gateways directly, without HTTP. */
export async function runSimulatedAgent({
  process,
  lightning,
  market,
  file,
  apiKey,
  terms,
  feeRate,
  log,
}: AgentOptions): Promise<void> {
  const journal = createJournal(file)
  const { clock, ids } = process
  for (;;)
    try {
      return await runSellerAgent({
        url: 'simulated',
        post: (_, body, bearer) => postToMarket(process, market, body, bearer),
        lightning,
        journal,
        terms,
        clock,
        ids,
        log,
        apiKey,
        feeRate,
        signal: new AbortController().signal,
        timings: { pollMs: 900, watchMs: 1500, attestMs: 3000, fundsMs: 1500, firstRetryMs: 300, longestRetryMs: 5000 },
      })
    } catch (error) {
      // In production the supervisor of the process restarts the agent.
      log.error({ reason: String(error) }, 'agent failed; restarting it')
      await clock.sleep(1000)
    }
}

/** Sends a request of an agent to the market. Injected faults may lose the request or the answer. */
async function postToMarket(
  process: SimulatedProcess,
  market: SimulatedMarket,
  body: object,
  bearer: string | undefined,
): Promise<unknown> {
  const { query, variables } = body as { query: string; variables: object } // The agent sends these fields.
  const answered = Promise.withResolvers<unknown>()
  // If the calling process crashes before the answer, no code awaits this promise, and its rejection must not be unhandled.
  answered.promise.catch(() => undefined)
  await process.call(
    'market.request',
    () => void market.call((gateway) => gateway.graphql(query, variables, bearer)).then(answered.resolve, answered.reject),
    {
      fault: 'outsideFault',
    },
  )
  const answer = await answered.promise
  return process.call('market.answer', () => {
    if (process.isInjected('outsideUnknown')) throw new Fault('the answer of the market was lost')
    return answer
  })
}
