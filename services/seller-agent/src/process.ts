import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Chain } from '@penstock/ports/chain.ts'
import type { Clock, Ids } from '@penstock/ports/clock.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import type { Log } from '@penstock/runtime/log.ts'
import { runSellerAgent } from './agent.ts'
import { openJournal } from './journal.ts'
import { readTerms } from './terms-file.ts'

type Surroundings = {
  /** The market's address. */
  readonly url: string
  /** Where the journal is kept. */
  readonly folder: string
  readonly lightning: Lightning
  readonly chain: Pick<Chain, 'feeRate'>
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly signal: AbortSignal
}

/** An agent as a process of its own, until the signal. @throws Error with a sentence where it is not told what to sell, or where */
export async function sellFrom(args: readonly string[], { folder, chain, ...rest }: Surroundings): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: { terms: { type: 'string' } } })
  if (values.terms === undefined) throw new Error('--terms <file> is missing: it says what is sold, and for how much.')
  if (rest.url === '') throw new Error('PENSTOCK_URL is not set: it says where the market is.')
  const terms = readTerms(values.terms)
  const journal = openJournal(join(folder, 'agent.db'))
  try {
    await runSellerAgent({ ...rest, journal, terms, feeRate: (targetBlocks) => chain.feeRate(targetBlocks) })
  } finally {
    journal.close()
  }
}
