import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Invoice, NodeInfo } from '@penstock/ports/lightning.ts'
import { within } from '@penstock/ports/within.ts'
import type { Job } from '@penstock/runtime/service.ts'
import { isReachTryDue, lastHeightOf } from '../heights.ts'
import { settlementProcess } from '../settlement.process.ts'
import { isOwing, type Settlement } from '../state.ts'
import { isUndecided } from '../withholding.decide.ts'
import type { SettlementPorts } from './ports.ts'
import { presentTip, type Tip } from './present-height.ts'
import { tryBuyer } from './reach.ts'
import { evidenceOf, type Looked, mayProofCome, onceAnnounced } from './prove.ts'
import { isBehind } from './reconcile.ts'
import { type Custody, listAnew, noteRound, noteSight, notOurs, ordersToGuard, remember } from './custody.ts'
import { atItsNode, isElsewhere, isReady, nodeNow, tellStranded } from './own-node.ts'
import { decideNow, type Jobs, keepSlots, recordInvoice, stateOf } from './record.ts'
import type { Slots } from './slots.ts'

const SIDE_BY_SIDE = 16
/** Every call to the node or the chain has its limit: whoever says nothing must not stop the round, nor the other holds. */
const ANSWER_TIMEOUT_MS = 10_000
/** At the last height nothing may be lost to a hiccup, nor to a replica that sees nothing and speaks before one that does. */
const LAST_TRIES = 3
const TRY_AGAIN_MS = 3000
const LOOK_EVERY_MS = 30_000
/** Nodes take a channel into use some moments after the block that makes it deep enough, or after they were started. */
const PROOF_MAY_COME_MS = 30_000
/** While one may come it is looked for more often. */
const LOOK_AGAIN_MS = 5000

/**
 * Watches over every payment that we hold, by the node and the streams alone: no bus, no other service and no parked
 * message stands between a block and what has to be done about it.
 */
export const guardJob = (custody: Custody): Job<SettlementPorts> => ({
  name: 'guard',
  async run(context, signal) {
    for await (const tip of context.ports.chain.tips(signal)) await guardAll(context, custody, tip)
  },
})

/** The same without waiting for a block: should tips stay away, or an invoice change between two of them unseen. */
export const guardByClockJob = (custody: Custody): Job<SettlementPorts> => ({
  name: 'guard-by-clock',
  async run(context, signal) {
    const { clock } = context.ports
    for (;;) {
      await clock.sleep(custody.lastLooks.size > 0 ? LOOK_AGAIN_MS : LOOK_EVERY_MS, signal)
      if (signal.aborted) return
      await guardAll(context, custody, await presentTip(context.ports))
    }
  },
})

async function guardAll(context: Jobs, custody: Custody, tip: Tip): Promise<void> {
  const { slots, made } = custody
  const [held, isListed, answers] = await Promise.all([heldNow(context), listAnew(context, custody), nodeNow(context.ports)])
  const orders = ordersToGuard(custody, held)
  const guarded = new Set(orders)
  slots.retain(guarded)
  for (const orderId of custody.lastLooks.keys()) if (!guarded.has(orderId)) custody.lastLooks.delete(orderId)
  const lastHeights = new Map<string, number>()
  const seen = new Map<string, Settlement>()
  // Each by itself: a stream that cannot be read, or a node that does not answer, keeps nothing else from being done.
  const each = (act: (orderId: string) => Promise<void>) => (orderId: string) => isDone(context, orderId, tip, act)
  const look = each(async (orderId) => {
    const state = await stateOf(context, orderId)
    keepSlots(slots, orderId, state)
    remember(custody, orderId, state)
    seen.set(orderId, state)
    if (settlementProcess(state, orderId).length === 0) made.delete(orderId)
    lastHeights.set(orderId, lastHeightOf(state.hold) ?? Number.MAX_SAFE_INTEGER)
  })
  await sideBySide(context, orders, look)
  noteSight(custody, { orders, seen, height: tip.height, node: answers?.pubkey })
  const known = custody.sight.last?.node
  tellStranded(context.ports, custody)
  for (const { paymentHash, amountMsat } of notOurs(custody, held))
    context.ports.log.error(
      { paymentHash, amountMsat: `${amountMsat}` },
      'the node holds a payment of no order that we know; nothing is done about it',
    )
  // Who has least time comes first.
  const urgentFirst = orders.toSorted((a, b) => (lastHeights.get(a) ?? 0) - (lastHeights.get(b) ?? 0))
  const record = each((orderId) => lookAtInvoice(context, slots, orderId, tip, held))
  const reach = each((orderId) => tryToReach(context, orderId, tip, known))
  logUndecided(context, custody, seen, tip.height)
  const judge = each((orderId) => sayWord(context, custody, orderId, { tip, node: answers, known }))
  const failed = await sideBySide(context, urgentFirst, async (orderId) => {
    const isRecorded = await record(orderId)
    const isTried = await reach(orderId)
    return (await judge(orderId)) && isRecorded && isTried
  })
  // Who cannot do its work must not look as if it did: nothing else tells that holds are unguarded.
  if (held && isListed && seen.size === orders.length && failed === 0) noteRound(custody, context.ports.clock.now())
}

/** A decision that only a person can take is asked for by the order's id, once while this process runs. */
function logUndecided({ ports }: Jobs, { undecided }: Custody, seen: ReadonlyMap<string, Settlement>, height: number): void {
  for (const [order, state] of seen) {
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

/** @returns false where it failed */
async function isDone(
  { ports }: Jobs,
  orderId: string,
  { height }: Tip,
  act: (orderId: string) => Promise<void>,
): Promise<boolean> {
  try {
    await act(orderId)
    return true
  } catch (error) {
    ports.log.error({ order: orderId, height, reason: String(error) }, 'the guard could not finish with a hold; it comes again')
    return false
  }
}

/** By payment hash; undefined where the node does not answer. */
async function heldNow({ ports }: Jobs): Promise<ReadonlyMap<string, Invoice> | undefined> {
  try {
    const held = await within(ports.clock, ANSWER_TIMEOUT_MS, ports.lightning.holds.held())
    return new Map(held.map((invoice) => [invoice.paymentHash, invoice]))
  } catch (error) {
    ports.log.error({ reason: String(error) }, 'the node does not tell what it holds')
    return undefined
  }
}

async function lookAtInvoice(
  context: Jobs,
  slots: Slots,
  orderId: string,
  tip: Tip,
  held: ReadonlyMap<string, Invoice> | undefined,
): Promise<void> {
  const { hold } = await stateOf(context, orderId)
  if (!hold.request || !held || hold.status === 'settled') return
  const { clock, lightning } = context.ports
  const { paymentHash } = hold.request
  const invoice = held.get(paymentHash) ?? (await within(clock, ANSWER_TIMEOUT_MS, lightning.holds.find(paymentHash)))
  if (!invoice) return
  if (isBehind(hold, invoice))
    context.ports.log.error(
      { order: orderId, hold: hold.status },
      'the node has taken a payment, and the facts that say so are missing: was an older copy of the stores restored?',
    )
  await recordInvoice(context, slots, orderId, invoice, tip.height)
}

/** In the blocks before the decision, and at its height: whether the buyer can be reached is a fact that all replicas share. */
async function tryToReach(context: Jobs, orderId: string, { height, hash }: Tip, known: string | undefined): Promise<void> {
  const { hold } = await stateOf(context, orderId)
  if (!hold.request || !isReachTryDue(hold, height) || (known !== undefined && isElsewhere(hold, known))) return
  const outcome = await tryBuyer(context.ports, hold.request.destination)
  // Another node behind the same address may know nothing of the buyer.
  await atItsNode(context.ports, hold)
  // Two replicas may try at the same block: the outcome of one is no repetition of the other's.
  const cause = `${hash} ${outcome.reached}`
  await decideNow(context, orderId, { type: 'RecordReachTry', data: { height, ...outcome } }, cause)
}

type Round = {
  readonly tip: Tip
  readonly node: NodeInfo | undefined
  /** Whose orders are served, also while nobody answers. */
  readonly known: string | undefined
}

async function sayWord(context: Jobs, { lastLooks }: Custody, orderId: string, { tip, node, known }: Round): Promise<void> {
  const state = await stateOf(context, orderId)
  const wanted = wantedWord(state, tip.height)
  if (wanted !== 'last') lastLooks.delete(orderId)
  if (wanted === 'none') return
  // Nothing could be done about it here, its own node may know more when it is back, and an alert of its own tells of it.
  if (known !== undefined && isElsewhere(state.hold, known)) return
  // A word that nobody can carry out is only hasty: what the node shows when it is back may say the opposite.
  if (wanted === 'last' && !node) throw silent()
  const outpoint = state.hold.noted?.outpoint ?? null
  const looked = await evidenceNow(context, orderId, state, tip, wanted === 'last' ? LAST_TRIES : 1)
  const later = wanted === 'some' && looked.evidence && (await onceAnnounced(context.ports, state.hold, looked.evidence))
  const { evidence, lookedAt } = later || looked
  if (evidence === null && outpoint !== null) {
    if (wanted !== 'last') throw new Fault('nothing can be learnt of its channel')
    // It may have ended under the look.
    if (!(await nodeNow(context.ports))) throw silent()
  }
  const first = lastLooks.get(orderId) ?? { height: tip.height, at: lookedAt }
  if (wanted === 'last') lastLooks.set(orderId, first)
  // No longer than within one block, whatever comes.
  const isInTime = tip.height === first.height && context.ports.clock.monotonicMs() - first.at < PROOF_MAY_COME_MS
  const mayCome = isInTime && evidence !== null && mayProofCome(state.hold, evidence, tip.height)
  const nodeReady = node !== undefined && isReady(node) && !mayCome
  const word = { height: tip.height, outpoint, evidence, lookedAt, nodeReady }
  await decideNow(context, orderId, { type: 'Guard', data: word }, tip.hash)
}

const silent = (): Fault => new Fault('our own node does not answer; nothing is settled or given back before it does')

function wantedWord(state: Settlement, height: number): 'none' | 'some' | 'last' {
  const { hold, payout, loss } = state
  if (isOwing(state)) return !payout.paying && payout.creditor === 'seller' ? 'some' : 'none'
  if (hold.status === 'cancelled') return loss?.status === 'asked' ? 'some' : 'none'
  if (hold.status !== 'held') return 'none'
  if (height >= (lastHeightOf(hold) ?? Number.MAX_SAFE_INTEGER)) return 'last'
  return hold.noted && hold.settleAsked?.outpoint === hold.noted.outpoint ? 'some' : 'none'
}

/** Null where nothing was named, or nothing can be learnt in time. The last look is the one that counts, from its beginning on. */
async function evidenceNow({ ports }: Jobs, orderId: string, { hold }: Settlement, tip: Tip, tries: number): Promise<Looked> {
  for (let left = tries - 1; ; left--) {
    const lookedAt = ports.clock.monotonicMs()
    try {
      return { evidence: timely(await evidenceOf(ports, hold), tip, left), lookedAt }
    } catch (error) {
      ports.log.error({ order: orderId, left, reason: String(error) }, 'the guard learns nothing of a channel')
      if (left === 0) return { evidence: null, lookedAt }
      await ports.clock.sleep(TRY_AGAIN_MS)
    }
  }
}

/**
 * What an older block does not have may be in a newer one, so that its silence proves nothing. What it has counts where
 * nobody says more in time. @throws Fault
 */
function timely(evidence: EvidenceData | null, { height }: Tip, left: number): EvidenceData | null {
  if (!evidence || evidence.tipHeight >= height) return evidence
  if (left === 0 && evidence.output && evidence.output.height !== null) return evidence
  throw new Fault(`the chain is shown as of ${evidence.tipHeight}, and its height is ${height}`)
}

/**
 * As many as go side by side take one turn, and whatever else waits has the next one: thousands in one go would hold up every
 * call that meets a block. @returns with how many it failed
 */
async function sideBySide<T>({ ports }: Jobs, items: readonly T[], isDone: (item: T) => Promise<boolean>): Promise<number> {
  const queue = items.values()
  let [begun, failed] = [0, 0]
  const lane = async (): Promise<void> => {
    for (const item of queue) {
      if (begun++ >= SIDE_BY_SIDE) await ports.clock.sleep(0)
      if (!(await isDone(item))) failed += 1
    }
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane))
  return failed
}
