import type { Clock } from '@penstock/ports/clock.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import type { Log } from '@penstock/runtime/log.ts'
import type { Journal } from './journal.ts'
import type { Market } from './market.ts'
import type { News } from './news.ts'
import type { Sale, SaleStep } from './sale.ts'
import type { FundingFees, SellerTerms } from './terms.ts'

/** All that work on a sale needs. */
export type Desk = {
  readonly lightning: Lightning
  readonly market: Market
  readonly journal: Journal
  readonly clock: Clock
  readonly log: Log
  readonly pubkey: string
  readonly terms: SellerTerms
  readonly fees: FundingFees
  /** The going rate in satoshis per virtual byte, where somebody can tell. */
  readonly feeRate?: (targetBlocks: number) => Promise<number>
  /** Peers to whom the node is preparing a channel right now, by order. */
  readonly preparing: Map<string, string>
  /** What the node told meanwhile, and nobody has looked at yet. */
  readonly news: News
}

/** Makes a step durable, and so true. */
export function record({ journal, clock, log }: Desk, { orderId }: Sale, step: SaleStep): Sale {
  const sale = journal.record(orderId, clock.now(), step)
  const [level, reason] = 'reason' in step ? (['warn', { reason: step.reason }] as const) : (['info', {}] as const)
  log[level]({ order: orderId, step: step.type, ...reason }, 'a sale went on')
  return sale
}
