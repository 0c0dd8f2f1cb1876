import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Chain } from '@penstock/ports/chain.ts'
import type { Clock, Ids } from '@penstock/ports/clock.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import { runSellerAgent } from './agent.ts'
import { openJournal } from './journal.ts'
import { readTerms } from './terms-file.ts'

type ProcessEnvironment = {
  /** The market's address. */
  readonly url: string
  /** The folder of the journal. */
  readonly folder: string
  readonly lightning: Lightning
  readonly chain: Pick<Chain, 'feeRate'>
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Runs an agent until the signal aborts. @throws Error with a sentence if the terms or the market's address are missing */
export async function runAgentProcess(args: readonly string[], { folder, chain, ...rest }: ProcessEnvironment): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: { terms: { type: 'string' } } })
  if (values.terms === undefined) throw new Error('--terms <file> is missing: it says what is sold, and for how much.')
  if (rest.url === '') throw new Error('PENSTOCK_MARKET_URL is not set: it says where the market is.')
  const terms = readTerms(values.terms)
  const journal = openJournal(join(folder, 'agent.db'))
  try {
    await runSellerAgent({ ...rest, journal, terms, feeRate: (targetBlocks) => chain.feeRate(targetBlocks) })
  } finally {
    journal.close()
  }
}
