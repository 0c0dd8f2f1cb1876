import { Fault } from '@penstock/kernel/result.ts'
import type { Invoice, NodeInfo } from '@penstock/ports/lightning.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import type { ServiceJob } from '@penstock/runtime/service.ts'
import { isReachTryDue, lastHeightOfHold } from '../../hold/heights.ts'
import { settlementProcess } from '../../settlement.process.ts'
import { isOwing, type Settlement } from '../../state.ts'
import { isUndecided } from '../../payout/withholding.decide.ts'
import type { SettlementPorts } from '../ports.ts'
import { readHighestTip, type HighestTip } from '../highest-tip.ts'
import { tryConnectingToBuyer } from '../connect-to-buyer.ts'
import { mayProofAppear, observeOnceAnnounced } from '../prove-channel.ts'
import { gatherEvidenceWithRetries } from './current-evidence.ts'
import { isBehindNode } from './reconcile.ts'
import {
  type GuardState,
  refreshListedOrders,
  completeRound,
  updateSnapshot,
  findUnknownHolds,
  ordersToGuard,
  rememberPaymentHash,
} from './guard-state.ts'
import { assertBoundNode, isOnOtherNode, isNodeReady, readNodeInfo, logOrdersOnOtherNode } from '../node-binding.ts'
import { decideNow, type SettlementJobContext, syncPeerSlots, recordInvoiceChange, loadSettlement } from '../stream-access.ts'
import type { PeerSlots } from './peer-slots.ts'
import { createRoundStates } from './round-states.ts'

const CONCURRENCY = 16
/** Timeout of each call to the node or the chain: a call without an answer must not stop the round or the other holds. */
const ANSWER_TIMEOUT_MS = 10_000
/** Tries at the last height, so that neither a short failure nor a replica without evidence loses a payment. */
const LAST_HEIGHT_TRIES = 3
const ROUND_INTERVAL_MS = 30_000
/** A node uses a channel only some moments after the block with the last needed confirmation, or after its own start. */
const PROOF_WAIT_MS = 30_000
/** Interval of the rounds while a proof may still appear. */
const PROOF_WAIT_INTERVAL_MS = 5000

const GUARD_COMMANDS = [
  'settlement.RecordHeld',
  'settlement.RecordNodeCancelled',
  'settlement.RecordReachTry',
  'settlement.Guard',
] as const

/**
 * Guards every payment that we hold, using only the node and the streams. No bus, other service or parked message can delay the
 * action that a block requires.
 */
export const guardJob = (guardState: GuardState): ServiceJob<SettlementPorts> => ({
  name: 'guard',
  sends: GUARD_COMMANDS,
  async run(context, signal) {
    for await (const tip of context.ports.chain.tips(signal)) await guardAll(context, guardState, tip)
  },
})

/** Runs the same round at intervals, in case no tips arrive or an invoice changes between two blocks. */
export const guardByClockJob = (guardState: GuardState): ServiceJob<SettlementPorts> => ({
  name: 'guard-by-clock',
  sends: GUARD_COMMANDS,
  async run(context, signal) {
    const { clock } = context.ports
    for (;;) {
      await clock.sleep(guardState.lastHeightSeen.size > 0 ? PROOF_WAIT_INTERVAL_MS : ROUND_INTERVAL_MS, signal)
      if (signal.aborted) return
      await guardAll(context, guardState, await readHighestTip(context.ports))
    }
  },
})

async function guardAll(context: SettlementJobContext, guardState: GuardState, tip: HighestTip): Promise<void> {
  const { slots, issuedHere } = guardState
  const [held, isListed, nodeInfo] = await Promise.all([
    listHeldInvoices(context),
    refreshListedOrders(context, guardState),
    readNodeInfo(context.ports),
  ])
  const orders = ordersToGuard(guardState, held)
  const guarded = new Set(orders)
  slots.retain(guarded)
  for (const orderId of guardState.lastHeightSeen.keys()) if (!guarded.has(orderId)) guardState.lastHeightSeen.delete(orderId)
  const lastHeights = new Map<string, number>()
  const states = new Map<string, Settlement>()
  // Each order runs separately, so that an unreadable stream or a node without an answer does not stop the others.
  const forOrder = (act: (orderId: string) => Promise<void>) => (orderId: string) => runForOrder(context, orderId, tip, act)
  const readOrder = forOrder(async (orderId) => {
    const state = await loadSettlement(context, orderId)
    syncPeerSlots(slots, orderId, state)
    rememberPaymentHash(guardState, orderId, state)
    states.set(orderId, state)
    if (settlementProcess(state, orderId).length === 0) issuedHere.delete(orderId)
    lastHeights.set(orderId, lastHeightOfHold(state.hold) ?? Number.MAX_SAFE_INTEGER)
  })
  await runConcurrently(context, orders, readOrder)
  updateSnapshot(guardState, { orders, states, height: tip.height, node: nodeInfo?.pubkey })
  const servedNode = guardState.snapshot.last?.node
  logOrdersOnOtherNode(context.ports, guardState)
  for (const { paymentHash, amountMsat } of findUnknownHolds(guardState, held))
    context.ports.log.error({ paymentHash, amountMsat: `${amountMsat}` }, 'held invoice matches no known order; ignoring it')
  // The guard starts with the holds that have the lowest last height.
  const urgentFirst = orders.toSorted((a, b) => (lastHeights.get(a) ?? 0) - (lastHeights.get(b) ?? 0))
  const current = createRoundStates(context, states)
  const record = forOrder((orderId) =>
    current.update(orderId, (state) => checkInvoice(context, slots, orderId, state, tip, held)),
  )
  const reach = forOrder((orderId) =>
    current.update(orderId, (state) => tryReachingBuyer(context, orderId, state, tip, servedNode)),
  )
  logUndecided(context, guardState, states, tip.height)
  const round = { tip, node: nodeInfo, servedNode }
  const decide = forOrder((orderId) =>
    current.update(orderId, (state) => decideOrder(context, guardState, orderId, state, round)),
  )
  const failed = await runConcurrently(context, urgentFirst, async (orderId) => {
    const isRecorded = await record(orderId)
    const isTried = await reach(orderId)
    return (await decide(orderId)) && isRecorded && isTried
  })
  // A round with a failure must not count as complete, because no other metric shows that holds are unguarded.
  if (held && isListed && states.size === orders.length && failed === 0) completeRound(guardState, context.ports.clock.now())
}

/** Logs each order whose payout needs an operator's decision, once while this process runs. */
function logUndecided(
  { ports }: SettlementJobContext,
  { undecided }: GuardState,
  states: ReadonlyMap<string, Settlement>,
  height: number,
): void {
  for (const [order, state] of states) {
    const { payout } = state
    if (!isOwing(state) || !isUndecided(payout, height)) undecided.delete(order)
    else if (!undecided.has(order)) {
      undecided.add(order)
      ports.log.error(
        { order, causes: Object.keys(payout.withheld) },
        'an operator has to decide over a payout; see "penstock payout show"',
      )
    }
  }
}

/** @returns false if `act` failed; the error is only logged */
async function runForOrder(
  { ports }: SettlementJobContext,
  orderId: string,
  { height }: HighestTip,
  act: (orderId: string) => Promise<void>,
): Promise<boolean> {
  try {
    await act(orderId)
    return true
  } catch (error) {
    ports.log.error(
      { order: orderId, height, reason: String(error) },
      'guard: processing a hold failed; retrying on the next block',
    )
    return false
  }
}

/** @returns the held invoices by payment hash; undefined if the node does not answer */
async function listHeldInvoices({ ports }: SettlementJobContext): Promise<ReadonlyMap<string, Invoice> | undefined> {
  try {
    const held = await withTimeout(ports.clock, ANSWER_TIMEOUT_MS, ports.lightning.holds.held())
    return new Map(held.map((invoice) => [invoice.paymentHash, invoice]))
  } catch (error) {
    ports.log.error({ reason: String(error) }, 'listing held invoices failed')
    return undefined
  }
}

async function checkInvoice(
  context: SettlementJobContext,
  slots: PeerSlots,
  orderId: string,
  settlement: Settlement,
  tip: HighestTip,
  held: ReadonlyMap<string, Invoice> | undefined,
): Promise<boolean> {
  const { hold } = settlement
  if (!hold.request || !held || hold.status === 'settled') return false
  const { clock, lightning } = context.ports
  const { paymentHash } = hold.request
  const invoice = held.get(paymentHash) ?? (await withTimeout(clock, ANSWER_TIMEOUT_MS, lightning.holds.find(paymentHash)))
  if (!invoice) return false
  // The order may have been settled after the round read its state.
  if (isBehindNode(hold, invoice) && isBehindNode((await loadSettlement(context, orderId)).hold, invoice))
    context.ports.log.error(
      { order: orderId, hold: hold.status },
      'the node has taken a payment, and the facts that say so are missing: was an older copy of the stores restored?',
    )
  return recordInvoiceChange(context, slots, orderId, { settlement, invoice, height: tip.height })
}

/** Tries to reach the buyer before and at the height of the decision. The outcome is a fact, so that all replicas share it. */
async function tryReachingBuyer(
  context: SettlementJobContext,
  orderId: string,
  { hold }: Settlement,
  { height, hash }: HighestTip,
  servedNode: string | undefined,
): Promise<boolean> {
  if (!hold.request || !isReachTryDue(hold, height) || (servedNode !== undefined && isOnOtherNode(hold, servedNode))) return false
  const outcome = await tryConnectingToBuyer(context.ports, hold.request.destination)
  // Another node behind the same address may not know the buyer's node.
  await assertBoundNode(context.ports, hold)
  // Two replicas may try at the same block with different outcomes, so the id depends on the outcome.
  const cause = `${hash} ${outcome.reached}`
  await decideNow(context, orderId, { type: 'RecordReachTry', data: { height, ...outcome } }, cause)
  return true
}

type RoundContext = {
  readonly tip: HighestTip
  readonly node: NodeInfo | undefined
  /** Pubkey of the connected node; while no node answers, the last known pubkey. */
  readonly servedNode: string | undefined
}

async function decideOrder(
  context: SettlementJobContext,
  { lastHeightSeen }: GuardState,
  orderId: string,
  known: Settlement,
  { tip, node, servedNode }: RoundContext,
): Promise<boolean> {
  // The evidence is about the newest outpoint, so a due decision starts from the newest state.
  const state = findDueDecision(known, tip.height) === 'none' ? known : await loadSettlement(context, orderId)
  const due = findDueDecision(state, tip.height)
  if (due !== 'last') lastHeightSeen.delete(orderId)
  if (due === 'none') return false
  // The connected node cannot act on this order, and the order's own node may have more evidence later. Another alert reports it.
  if (servedNode !== undefined && isOnOtherNode(state.hold, servedNode)) return false
  // Without the node no decision can be carried out, and the node's later evidence may lead to the opposite decision.
  if (due === 'last' && !node) throw nodeSilentFault()
  const outpoint = state.hold.registered?.outpoint ?? null
  const observation = await gatherEvidenceWithRetries(context, orderId, state, tip, due === 'last' ? LAST_HEIGHT_TRIES : 1)
  const announced =
    due === 'some' && observation.evidence && (await observeOnceAnnounced(context.ports, state.hold, observation.evidence))
  const { evidence, observedAt } = announced || observation
  if (evidence === null && outpoint !== null) {
    if (due !== 'last') throw new Fault('the evidence of its channel could not be read')
    // The node may have stopped while the evidence was gathered.
    if (!(await readNodeInfo(context.ports))) throw nodeSilentFault()
  }
  const firstSeen = lastHeightSeen.get(orderId) ?? { height: tip.height, at: observedAt }
  if (due === 'last') lastHeightSeen.set(orderId, firstSeen)
  // The wait ends with the next block at the latest.
  const isInTime = tip.height === firstSeen.height && context.ports.clock.monotonicMs() - firstSeen.at < PROOF_WAIT_MS
  // After the settlement no proof is pending: a recorded probe is not repeated, and the payout has its own causes to wait.
  const isHeld = state.hold.status === 'held'
  const isProofPending = isHeld && isInTime && evidence !== null && mayProofAppear(state.hold, evidence, tip.height)
  const nodeReady = node !== undefined && isNodeReady(node) && !isProofPending
  const guardData = { height: tip.height, outpoint, evidence, observedAt, nodeReady }
  await decideNow(context, orderId, { type: 'Guard', data: guardData }, tip.hash)
  return true
}

const nodeSilentFault = (): Fault => new Fault('our own node does not answer; nothing is settled or given back before it does')

function findDueDecision(state: Settlement, height: number): 'none' | 'some' | 'last' {
  const { hold, payout, loss } = state
  if (isOwing(state)) return !payout.paying && payout.creditor === 'seller' ? 'some' : 'none'
  if (hold.status === 'cancelled') return loss?.status === 'asked' ? 'some' : 'none'
  if (hold.status !== 'held') return 'none'
  if (height >= (lastHeightOfHold(hold) ?? Number.MAX_SAFE_INTEGER)) return 'last'
  return hold.registered && hold.settlementWanted?.outpoint === hold.registered.outpoint ? 'some' : 'none'
}

/**
 * Starts CONCURRENCY items in one turn of the event loop, then yields before each further item. Thousands of items in one turn
 * would delay every other call. @returns the number of failed items
 */
async function runConcurrently<T>(
  { ports }: SettlementJobContext,
  items: readonly T[],
  run: (item: T) => Promise<boolean>,
): Promise<number> {
  const queue = items.values()
  let [started, failed] = [0, 0]
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      if (started++ >= CONCURRENCY) await ports.clock.sleep(0)
      if (!(await run(item))) failed += 1
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  return failed
}
