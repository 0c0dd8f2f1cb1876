import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Invoice } from '@penstock/ports/lightning.ts'
import type { Job } from '@penstock/runtime/service.ts'
import { lastHeightOf } from '../guard.decide.ts'
import { owedMsat } from '../ledger.ts'
import { settlementProcess } from '../settlement.process.ts'
import type { Settlement } from '../state.ts'
import type { SettlementPorts } from './ports.ts'
import { evidenceOf } from './prove.ts'
import { decideNow, type Jobs, recordInvoice, stateOf, unfinishedOrders } from './record.ts'
import type { Slots } from './slots.ts'

/** What the guard's two jobs and the watch have in common. */
export type Custody = {
  readonly slots: Slots
  /** Orders whose invoice this process made: the list of unfinished streams may be some moments behind. */
  readonly made: Set<string>
}

type Tip = { readonly height: number; readonly hash: string }

const SIDE_BY_SIDE = 16
const EVIDENCE_TIMEOUT_MS = 20_000
/** At the last height nothing may be lost to a hiccup. */
const LAST_TRIES = 3
const LOOK_EVERY_MS = 30_000

/**
 * Watches over every payment that we hold, by the node and the streams alone: no bus, no other service and no parked
 * message stands between a block and what has to be done about it (decisions, A4).
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
      await clock.sleep(LOOK_EVERY_MS, signal)
      if (signal.aborted) return
      await guardAll(context, custody, await presentTip(context))
    }
  },
})

/** The chain source may be away, or behind the node, whose height is the one that counts for its HTLCs. */
async function presentTip({ ports }: Jobs): Promise<Tip> {
  const [chain, node] = await Promise.allSettled([ports.chain.tip(), ports.lightning.info()])
  if (node.status === 'fulfilled' && !(chain.status === 'fulfilled' && chain.value.height >= node.value.height))
    return { height: node.value.height, hash: `node ${node.value.height}` }
  if (chain.status === 'rejected') throw new Fault('neither the chain nor the node tells its height')
  return chain.value
}

async function guardAll(context: Jobs, { slots, made }: Custody, tip: Tip): Promise<void> {
  const orders = [...new Set([...(await unfinishedOrders(context)), ...made])]
  slots.retain(new Set(orders))
  const held = await heldNow(context)
  const lastHeights = new Map<string, number>()
  // Each by itself: a stream that cannot be read, or a node that does not answer, keeps nothing else from being done.
  const each = (act: (orderId: string) => Promise<void>) => (orderId: string) => unlessBroken(context, orderId, tip, act)
  const look = each(async (orderId) => {
    const state = await stateOf(context, orderId)
    keepSlots(slots, orderId, state)
    if (settlementProcess(state, orderId).length === 0) made.delete(orderId)
    lastHeights.set(orderId, lastHeightOf(state.hold) ?? Number.MAX_SAFE_INTEGER)
  })
  await sideBySide(orders, look)
  // Who has least time comes first.
  const urgentFirst = orders.toSorted((a, b) => (lastHeights.get(a) ?? 0) - (lastHeights.get(b) ?? 0))
  const record = each((orderId) => lookAtInvoice(context, slots, orderId, tip, held))
  const judge = each((orderId) => sayWord(context, orderId, tip))
  await sideBySide(urgentFirst, async (orderId) => {
    await record(orderId)
    await judge(orderId)
  })
}

async function unlessBroken(
  { ports }: Jobs,
  orderId: string,
  { height }: Tip,
  act: (orderId: string) => Promise<void>,
): Promise<void> {
  try {
    await act(orderId)
  } catch (error) {
    ports.log.error({ order: orderId, height, reason: String(error) }, 'the guard could not finish with a hold; it comes again')
  }
}

/** By payment hash; undefined where the node does not answer. */
async function heldNow({ ports }: Jobs): Promise<ReadonlyMap<string, Invoice> | undefined> {
  try {
    return new Map((await ports.lightning.holds.held()).map((invoice) => [invoice.paymentHash, invoice]))
  } catch (error) {
    ports.log.error({ reason: String(error) }, 'the node does not tell what it holds')
    return undefined
  }
}

function keepSlots(slots: Slots, orderId: string, { hold }: Settlement): void {
  if (hold.payment && hold.atNode === 'held') slots.keep(orderId, hold.payment.peers)
  else if (hold.status === 'settled' || hold.status === 'cancelled') slots.free(orderId)
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
  const invoice = held.get(hold.request.paymentHash) ?? (await context.ports.lightning.holds.find(hold.request.paymentHash))
  if (invoice) await recordInvoice(context, slots, orderId, invoice, tip.height)
}

async function sayWord(context: Jobs, orderId: string, tip: Tip): Promise<void> {
  const state = await stateOf(context, orderId)
  const wanted = wantedWord(state, tip.height)
  if (wanted === 'none') return
  const outpoint = state.hold.noted?.outpoint ?? null
  const evidence = await evidenceNow(context, orderId, state, wanted === 'last' ? LAST_TRIES : 1)
  if (evidence === null && outpoint !== null && wanted !== 'last') return
  await decideNow(context, orderId, { type: 'Guard', data: { height: tip.height, outpoint, evidence } }, tip.hash)
}

function wantedWord({ hold, payout, balances }: Settlement, height: number): 'none' | 'some' | 'last' {
  if (hold.status === 'settled') return owedMsat(balances) > 0n && !payout.paying ? 'some' : 'none'
  if (hold.status !== 'held') return 'none'
  if (height >= (lastHeightOf(hold) ?? Number.MAX_SAFE_INTEGER)) return 'last'
  return hold.noted && hold.settleAsked?.outpoint === hold.noted.outpoint ? 'some' : 'none'
}

/** Null where nothing was named, or nothing can be learnt in time. */
async function evidenceNow(context: Jobs, orderId: string, { hold }: Settlement, tries: number): Promise<EvidenceData | null> {
  for (let left = tries; left > 0; left--) {
    try {
      return await within(context, EVIDENCE_TIMEOUT_MS, evidenceOf(context.ports, hold))
    } catch (error) {
      context.ports.log.error({ order: orderId, left: left - 1, reason: String(error) }, 'the guard learns nothing of a channel')
    }
  }
  return null
}

async function within<T>({ ports }: Jobs, timeoutMs: number, call: Promise<T>): Promise<T> {
  const timer = new AbortController()
  const late = ports.clock
    .sleep(timeoutMs, timer.signal)
    .then(() => Promise.reject(new Fault(`no answer within ${timeoutMs} ms`)))
  late.catch(() => undefined) // it loses the race, and nobody hears it
  try {
    return await Promise.race([call, late])
  } finally {
    timer.abort()
  }
}

async function sideBySide<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values()
  const lane = async (): Promise<void> => {
    for (const item of queue) await act(item)
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane))
}
