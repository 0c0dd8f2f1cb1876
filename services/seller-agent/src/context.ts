import type { Clock, Ids } from '@penstock/ports/clock.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import type { Journal } from './journal.ts'
import type { MarketClient } from './market-client.ts'
import type { WakeUps } from './wake-up.ts'
import type { SaleState, SaleStep } from './sale.ts'
import type { FundingFeeSettings, SellerTerms } from './terms.ts'

/** The ports, the settings and the state of an agent's work on its sales. */
export type AgentContext = {
  readonly lightning: Lightning
  readonly market: MarketClient
  readonly journal: Journal
  readonly clock: Clock
  readonly ids: Pick<Ids, 'random'>
  readonly log: Logger
  readonly pubkey: string
  readonly terms: SellerTerms
  readonly fees: FundingFeeSettings
  /** The current fee rate in satoshis per virtual byte, if a source for it exists. */
  readonly feeRate?: (targetBlocks: number) => Promise<number>
  /** Peers of the channels that the node is preparing now, by order. */
  readonly preparing: Map<string, string>
  /** Signals that end the waits of the loops when a channel has changed. */
  readonly wakeUps: WakeUps
}

/** Records a step in the journal, and logs it. @returns the sale after the step */
export function recordStep({ journal, clock, log }: AgentContext, { orderId }: SaleState, step: SaleStep): SaleState {
  const sale = journal.record(orderId, clock.now(), step)
  const [level, reason] = 'reason' in step ? (['warn', { reason: step.reason }] as const) : (['info', {}] as const)
  log[level]({ order: orderId, step: step.type, ...reason }, 'recorded a step of a sale')
  return sale
}
