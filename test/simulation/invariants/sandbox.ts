import { BALANCE_QUERY, type BalanceData } from '../../support/payments-client.ts'
import { retryWhileUnavailable } from '../world/gateway-access.ts'
import type { SimulatedWorld } from '../world/simulated-world.ts'
import { type FoldedLog, InvariantViolation } from './folded-log.ts'
import { hasNoOpenTransaction } from './read-models.ts'
import { checkWebhooks } from './webhooks.ts'
import { checkBalance, checkTransactions, listTransactions } from './payments.ts'

/** The longest wait for a balance. The processes of a gateway may be frozen for 40 s. */
export const BALANCE_TIMEOUT_MS = 60_000

/** Checks the transactions of the sandbox after quiescence, and the balance that a gateway shows. @throws InvariantViolation */
export async function checkSandbox(world: SimulatedWorld, { events }: FoldedLog): Promise<void> {
  const { plan, market, engine, sandboxTokens, transactionAnswers } = world
  const { clock } = engine.schedule
  const transactions = listTransactions(events)
  const keys = {
    receive: plan.sandboxInvoices.length,
    send: plan.sandboxInvoices.reduce((sum, { sends }) => sum + sends.length, 0),
  }
  const violations = [...checkTransactions(transactions, transactionAnswers, { keys, workloadMs: plan.workloadMs })]
  for (const [walletId, token] of sandboxTokens) {
    const { payment } = await retryWhileUnavailable(clock, clock.now() + BALANCE_TIMEOUT_MS, () =>
      market.graphql<BalanceData>(BALANCE_QUERY, { id: walletId }, token),
    )
    violations.push(...checkBalance(transactions, walletId, payment.wallet.find_one.balance))
  }
  await waitForDeliveries(world, events)
  violations.push(...checkWebhooks(events, world.webhooks.received))
  if (violations.length > 0) throw new InvariantViolation('payments', violations.slice(0, 3).join('\n'))
}

/**
 * Waits until every delivery has ended, and until each event has its webhook. A frozen process can keep a delivery in progress. A
 * job that has failed makes new deliveries up to ten seconds later.
 */
async function waitForDeliveries({ records, engine, webhooks }: SimulatedWorld, events: FoldedLog['events']): Promise<void> {
  const { clock } = engine.schedule
  const until = clock.now() + BALANCE_TIMEOUT_MS
  const countOpen = (): number =>
    records.rows<{ count: number }>('SELECT count(*) AS count FROM webhook_attempts WHERE ended_at IS NULL')[0]?.count ?? 0
  const isWaiting = (): boolean =>
    !hasNoOpenTransaction(records) || countOpen() > 0 || checkWebhooks(events, webhooks.received).length > 0
  while (isWaiting() && clock.now() < until) await clock.sleep(500)
}
