import { BALANCE_QUERY, type BalanceData } from '../../support/payments-client.ts'
import { retryWhileUnavailable } from '../world/gateway-access.ts'
import type { SimulatedWorld } from '../world/simulated-world.ts'
import { type FoldedLog, InvariantViolation } from './folded-log.ts'
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
  if (violations.length > 0) throw new InvariantViolation('payments', violations.slice(0, 3).join('\n'))
}
