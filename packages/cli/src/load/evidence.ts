import type { Json } from '../json.ts'
import { look } from './buying.ts'
import type { Closing } from './closing.ts'
import type { Ending } from './drive.ts'
import { isHeldLate } from './hold.ts'
import { asTrouble, sleepUntil } from './life.ts'
import { at, type Market, type Operator, textAt, wordAt } from './market.ts'
import type { Due } from './omitted.ts'
import { isEnded, isSold, type LoadOrder, msatOf } from './order.ts'
import type { World } from './world.ts'

/** What can be learnt about the orders of a run when it is over. null: nobody could be asked, or nobody answered. */
export type Evidence = {
  readonly orders: readonly LoadOrder[]
  readonly endedBy: Ending
  /** The user takes it that paid orders are under way when the drain limit comes. */
  readonly isUnfinishedAllowed: boolean
  readonly due: DueAtAll
  /** Whether every order was followed to its end; else some may rightly be under way. */
  readonly isWhole: boolean
  readonly now: number
  /** What was asked and not answered, a sentence each. */
  readonly missing: readonly string[]
  /** What the operator sees of each order, by its id. */
  readonly reports: ReadonlyMap<string, Json> | null
  readonly audit: Json
  readonly parked: Json
  readonly network: {
    readonly before: Json
    readonly after: Json
    readonly height: number
    /** By payment hash: IN_FLIGHT, SUCCEEDED or FAILED. */
    readonly payments: ReadonlyMap<string, string>
    readonly marketAlias: string
  } | null
}

/** What became of all that was due; `isShedAllowed`: the user takes it that some of it was never sent. */
type DueAtAll = Due & { readonly isShedAllowed: boolean }

type Options = {
  readonly world: World
  readonly orders: readonly LoadOrder[]
  readonly before: Json
  readonly endedBy: Ending
  readonly isUnfinishedAllowed: boolean
  readonly due: DueAtAll
  /** How long sellers may wait for their payouts. */
  readonly patienceMs: number
  readonly interrupt: AbortSignal
  readonly closing: Closing
}

const AT_ONCE = 8
const AGAIN_MS = 500
const TRIES = 3
/** So long it may take until the market has carried out what has just happened. */
const SEEN_WITHIN_MS = 10_000

/** Learns what it can: a market that is on its knees is reported, too, and one that hangs is not waited for. */
export async function gather(market: Market, options: Options): Promise<Evidence> {
  const { world, orders, before, patienceMs, interrupt, closing, endedBy, isUnfinishedAllowed, due } = options
  const { operator } = market
  const missing = new Map<string, string>()
  const asking = { attempt: attempting(closing, missing), signal: closing.signal }
  const soon = (): number => performance.now() + SEEN_WITHIN_MS
  const unseen = orders.filter(({ status }) => !isEnded(status))
  const lookAt = async (order: LoadOrder) => void (await asking.attempt(`order ${order.id}`, () => look(market, order)))
  // A payment that was sent just before the end is seen a moment later.
  await askUntil(soon(), asking, unseen, lookAt, ({ paid, status }) => paid !== null && status.endsWith('PAYMENT'))
  const isWhole = endedBy === 'itself' && !interrupt.aborted
  const reports = operator && openReports(operator, asking)
  // Sellers are paid some blocks after their channel is sold, so it is waited for.
  await reports?.read(orders, performance.now() + (isWhole ? patienceMs : 0), isOwed)
  if (reports) for (const order of orders) recallPayment(order, reports.byId.get(order.id) ?? null)
  const network = world.simulation && (await networkOf(world.simulation.operator, asking, orders))
  if (reports && network) {
    const isLate = (report: Json): boolean => isHeldLate(report, network.height)
    const late = orders.filter(({ id }) => isLate(reports.byId.get(id) ?? null))
    await reports.read(late, soon(), isLate)
  }
  const parked = operator && (await asking.attempt('parked messages', () => operator('GET', '/parked')))
  const audit = operator && (await asking.attempt('the audit', () => operator('POST', '/audit/verify', {})))
  const why = closing.why()
  return {
    orders,
    endedBy,
    isUnfinishedAllowed,
    due,
    isWhole,
    now: Date.now(),
    reports: reports && reports.byId,
    parked,
    audit,
    network: world.simulation && network && { ...network, before, marketAlias: world.simulation.marketAlias },
    missing: [
      ...(why === null ? [] : [`the closing look was given up: ${why}`]),
      ...[...missing].map(([what, trouble]) => `${what}: ${trouble}`),
    ],
  }
}

/** null where it came to nothing after some tries, which is noted. */
type Attempt = <T>(what: string, work: () => Promise<T>) => Promise<T | null>
type Asking = { readonly attempt: Attempt; readonly signal: AbortSignal }

const attempting =
  (closing: Closing, missing: Map<string, string>): Attempt =>
  async (what, work) => {
    for (let left = TRIES; ; left--) {
      try {
        const answer = await closing.ask(work)
        missing.delete(what)
        return answer
      } catch (error) {
        const { message } = asTrouble(error)
        if (left > 1 && closing.why() === null) continue
        missing.set(what, closing.why() === null ? message : 'not answered')
        return null
      }
    }
  }

/** Asks about each, and on about those that are open, until there is none or the time is over. */
async function askUntil<T>(
  until: number,
  { signal }: Asking,
  list: readonly T[],
  ask: (one: T) => Promise<void>,
  isOpen: (one: T) => boolean,
): Promise<void> {
  let open = list
  do {
    await inTurns(open, ask)
    open = open.filter(isOpen)
  } while (open.length > 0 && performance.now() < until && (await sleepUntil(performance.now() + AGAIN_MS, signal)))
}

/** What the operator sees of each order, as it is read. */
function openReports(operator: Operator, asking: Asking) {
  const byId = new Map<string, Json>()
  const readOne = async ({ id }: LoadOrder): Promise<void> => {
    const report = await asking.attempt(`the report of order ${id}`, () => operator('GET', `/orders/${id}`))
    if (report !== null) byId.set(id, report)
  }
  const read = (orders: readonly LoadOrder[], until: number, isOpen: (report: Json) => boolean): Promise<void> =>
    askUntil(until, asking, orders, readOne, ({ id }) => isOpen(byId.get(id) ?? null))
  return { byId, read }
}

/** A payout that is still to come; one that is withheld comes in a week. */
const isOwed = (report: Json): boolean =>
  isSold(wordAt(report, 'status')) && !['SUCCEEDED', 'WITHHELD'].includes(wordAt(report, 'payout.state'))

/** What was sent without an answer has the hash that the market knows, if it arrived. */
function recallPayment(order: LoadOrder, report: Json): void {
  const hash = at(report, 'hold.payment_hash')
  const isSent = ['held', 'settling', 'settled', 'cancelling', 'cancelled'].includes(wordAt(report, 'hold.status'))
  if (!order.isPaymentUnsure || !isSent || typeof hash !== 'string' || order.invoice === null) return
  order.paid = { hash, amountMsat: msatOf(order.invoice) ?? 0n }
}

async function networkOf(operator: Operator, { attempt }: Asking, orders: readonly LoadOrder[]) {
  const payments = new Map<string, string>()
  await inTurns(orders, async ({ id, paid }) => {
    if (!paid) return
    const payment = await attempt(`the payment of order ${id}`, () => operator('GET', `/sim/payments/${paid.hash}`))
    if (payment !== null) payments.set(paid.hash, textAt(payment, 'state'))
  })
  const after = await attempt('the balances', () => operator('GET', '/sim/balances'))
  // The height is told by a block only.
  const mined = await attempt('the height', () => operator('POST', '/sim/mine', { blocks: 1 }))
  const height = at(mined, 'height')
  return after === null || typeof height !== 'number' ? null : { after, height, payments }
}

async function inTurns<T>(list: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const left = list.values()
  const worker = async (): Promise<void> => {
    for (const one of left) await work(one)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}
