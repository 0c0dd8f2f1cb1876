import type { Simnet } from '@penstock/adapters/simnet/simnet.ts'
import { checkSoldChannel, findBrokenRules, type BrokenRule, type OngoingMoney } from '../../support/invariants/money-rules.ts'
import type { NetworkChannel } from '../../support/invariants/network-state.ts'
import { applyFact, type OrderModel } from '../../support/invariants/order-model.ts'
import { InvariantViolation, type FoldedLog } from './folded-log.ts'

/**
 * Creates a check of the money rules that hold after every step. The check throws `InvariantViolation`.
 */
export function createMoneyCheck({ rows }: Simnet, marketPubkey: string, { events }: FoldedLog): () => void {
  const models = new Map<string, OrderModel>()
  const soldOrders = new Set<OrderModel>()
  let nextEvent = 0
  const readHashes = (sql: string): readonly string[] =>
    rows<{ readonly payment_hash: string }>(`SELECT payment_hash FROM ${sql}`).map(({ payment_hash }) => payment_hash)
  const checkNewSales = (orders: readonly OrderModel[], settledHashes: readonly string[]): readonly BrokenRule[] => {
    const sold = orders.filter((one) => !soldOrders.has(one) && one.paymentHashes.some((hash) => settledHashes.includes(hash)))
    return sold.flatMap((order) => {
      soldOrders.add(order)
      const sql = `SELECT a, capacity_sat, state FROM channels WHERE outpoint = '${order.proofs.at(-1)?.outpoint}'`
      return checkSoldChannel(order, rows<Pick<NetworkChannel, 'a' | 'capacity_sat' | 'state'>>(sql)[0])
    })
  }
  return () => {
    for (const event of events.slice(nextEvent)) applyFact(models, event)
    nextEvent = events.length
    const orders = [...models.values()]
    const settledHashes = readHashes(`invoices WHERE node = '${marketPubkey}' AND state = 'settled'`)
    const [broken] = [
      ...findBrokenRules({
        orders,
        settledHashes,
        heldHashes: readHashes(`htlcs WHERE receiver = '${marketPubkey}' AND is_last = 1 AND state = 'held'`),
        sentPayments: rows<OngoingMoney['sentPayments'][number]>(
          `SELECT payment_hash, payee, amount_msat FROM payments WHERE payer = '${marketPubkey}' AND state = 'succeeded'`,
        ),
      }),
      ...checkNewSales(orders, settledHashes),
    ]
    if (broken) throw new InvariantViolation(broken.rule, broken.violation)
  }
}
