import { deriveDecisionKey, proveDecision } from '@penstock/config/decision-proof.ts'
import { command } from '@penstock/kernel/process.ts'
import type { SettlementTarget } from '@penstock/contracts/settlement.ts'
import type { Order } from '@penstock/order/state.ts'
import { isOwing, type Settlement } from '@penstock/settlement/state.ts'
import { findUndecidedOrders } from '../../support/invariants/undecided.ts'
import type { FoldedLog } from '../invariants/folded-log.ts'
import type { InjectionName } from '../plan/triggers.ts'
import { sendOperatorCommand } from '../workload/operator-actions.ts'
import { isExpectedRefusal, RefusedByMarket } from '../world/gateway-access.ts'
import type { InjectionTarget } from './injection-context.ts'
import { type RunInjection, throwNothingToDo } from './people.ts'
import { readSettlementState } from '../invariants/hold-deadlines.ts'
import { SIMULATED_DECISION_KEY } from '../world/seeded-keyring.ts'
import type { SimulatedWorld } from '../world/simulated-world.ts'

const CREDITORS = ['seller', 'buyer', 'nobody'] as const
type Creditor = (typeof CREDITORS)[number]

const OPERATOR_REASON = { by: 'operator', reason: 'as the plan says' }
/** The alias of another node of the buyer, because any node may issue a refund invoice. */
const REFUND_WALLET = 'spare'
const SHORT_SECONDS = 15
const LONG_SECONDS = 4 * 86_400

/** Actions of buyers and operators on a payout that has not succeeded. */
export const payoutInjections = {
  'the buyer asks for its money': async ({ world }, target, amount) => {
    const amountMsat = computeOwedMsat(target.settlement)
    if (amountMsat === undefined) return throwNothingToDo()
    await requestRefund(world, target, amount === 1 ? REFUND_WALLET : findWallet(world, target.order), amountMsat)
  },
  'the operator decides a payout': ({ world }, { id, settlement }, amount) =>
    settlement && (amount === 0 || !isPayoutPending(world, settlement))
      ? decidePayout(world, id, CREDITORS[amount] ?? 'seller')
      : throwNothingToDo(),
  'the operator retries a payout': async ({ world }, { id, settlement }) => {
    if (!settlement) return throwNothingToDo()
    await sendOperatorCommand(
      world.market,
      command<SettlementTarget>('settlement', id, { type: 'RetryPayoutNow', data: OPERATOR_REASON }),
    )
  },
} as const satisfies Partial<Record<InjectionName, RunInjection>>

/**
 * Whether an abandoned `pay` call may still reach the node. A payout is withheld for a week of blocks, so in production such a
 * call arrives before the week ends. In a simulation these blocks take seconds, so the call may arrive later.
 */
export const isPayoutPending = ({ plan: { faults } }: SimulatedWorld, { payout }: Settlement): boolean =>
  payout.attempts > 0 && (faults.lightningLate !== undefined || faults.lightningOrphan !== undefined)

async function decidePayout({ market, countOccurrence }: SimulatedWorld, orderId: string, creditor: Creditor): Promise<void> {
  const decision = { to: creditor, ...OPERATOR_REASON }
  const proof = proveDecision(deriveDecisionKey(SIMULATED_DECISION_KEY), { orderId, ...decision })
  await sendOperatorCommand(
    market,
    command<SettlementTarget>('settlement', orderId, { type: 'DecidePayout', data: { ...decision, proof } }),
  )
  countOccurrence(creditor === 'nobody' ? 'by hand: decide for nobody' : `by hand: decide for the ${creditor}`)
}

/** Creates a new invoice at a node, and submits it by the refund form on the order's web page. */
async function requestRefund(
  { market, simnet, countOccurrence }: SimulatedWorld,
  { id, settlement }: Pick<InjectionTarget, 'id' | 'settlement'>,
  alias: string,
  amountMsat: bigint,
): Promise<void> {
  // The form accepts a second invoice only after the first has expired. The buyer's own node may be offline until then, so its
  // invoices expire soon.
  const seconds = alias === REFUND_WALLET ? LONG_SECONDS : SHORT_SECONDS
  const { invoice } = simnet.control.invoice(alias, amountMsat / 1000n, seconds)
  const payment = simnet.control.payment(settlement?.hold.request?.paymentHash ?? '')
  const texts = { request: invoice, preimage: payment?.preimage ?? '' }
  const refusal = await market.call((gateway) => gateway.submitRefundInvoice(id, texts))
  if (refusal !== undefined) throw new RefusedByMarket(refusal)
  countOccurrence('by hand: ask for a refund')
}

/** @returns the amount of a possible refund in msat, which is the amount that the market promised to the seller */
const computeOwedMsat = (state: Settlement | undefined): bigint | undefined =>
  state?.hold.registered ? BigInt(state.hold.registered.sellerAmountMsat) : undefined

function findWallet({ simnet }: SimulatedWorld, { terms }: InjectionTarget['order']): string {
  return simnet.control.nodes().find(({ pubkey }) => pubkey === terms.destination.pubkey)?.alias ?? REFUND_WALLET
}

/**
 * Creates a function that runs the actions on payouts that only people can unblock. Repeated calls retry them until they have an
 * effect. The operator decides at random about each undecided payout, sometimes twice at once. A buyer that is the creditor
 * requests a refund.
 */
export function createPayoutActions(world: SimulatedWorld, log: FoldedLog): (height: number) => void {
  const { trace, engine } = world
  const draws = engine.schedule.random.fork('payables')
  const perform = (description: string, action: () => Promise<void>): void => {
    trace.note(description)
    action().catch((error: unknown) => {
      if (!isExpectedRefusal(error)) world.unexpectedErrors.push(error)
      trace.note(`${description}: ${error instanceof RefusedByMarket ? error.message : 'no answer'}`)
    })
  }
  const decideFor = (orderId: string): void => {
    const state = readSettlementState(log, orderId)
    const creditor = state && isPayoutPending(world, state) ? 'seller' : draws.pick(CREDITORS)
    perform(`the operator decides for ${creditor}: ${orderId}`, () => decidePayout(world, orderId, creditor))
  }
  return (height) => {
    for (const orderId of findUndecidedOrders(log.pendingSteps(), height)) {
      decideFor(orderId)
      if (draws.chance(0.2)) decideFor(orderId)
    }
    for (const { stream } of log.pendingSteps()) {
      const id = stream.startsWith(SETTLEMENT_PREFIX) ? stream.slice(SETTLEMENT_PREFIX.length) : ''
      const state = readSettlementState(log, id)
      const amountMsat = computeOwedMsat(state)
      const order = log.state(`order-${id}`) as Order | undefined // The order service folds it.
      if (!state || amountMsat === undefined || !order || order.status === 'NONE' || !isWaitingForBuyer(state)) continue
      const alias = draws.chance(0.5) || hasBuyerInvoice(state) ? REFUND_WALLET : findWallet(world, order)
      perform(`the buyer asks for its money: ${id}`, () => requestRefund(world, { id, settlement: state }, alias, amountMsat))
    }
  }
}

const SETTLEMENT_PREFIX = 'settlement-'

/** A buyer whose own node could not be paid uses another wallet, because its node may have lost its only channel. */
const hasBuyerInvoice = ({ payout }: Settlement): boolean =>
  Object.values(payout.invoices).some(({ creditor }) => creditor === 'buyer')

const isWaitingForBuyer = (state: Settlement): boolean =>
  isOwing(state) &&
  state.payout.creditor === 'buyer' &&
  Object.values(state.payout.invoices).every(
    ({ creditor, paymentHash, state: invoiceState }) =>
      creditor === 'seller' ||
      invoiceState === 'refused' ||
      (invoiceState === 'accepted' && !Object.values(state.payout.usable).includes(paymentHash)),
  )
