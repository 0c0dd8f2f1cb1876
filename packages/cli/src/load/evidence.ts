import { setTimeout as pause } from 'node:timers/promises'
import type { Json } from '../json.ts'
import { look } from './buying.ts'
import { asTrouble, sleepUntil } from './life.ts'
import { at, type Market, type Operator, textAt, wordAt } from './market.ts'
import { isEnded, isSold, type LoadOrder, msatOf } from './order.ts'
import type { World } from './world.ts'

/** What can be learnt about the orders of a run when it is over. null: nobody could be asked, or nobody answered. */
export type Evidence = {
  readonly orders: readonly LoadOrder[]
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

type Options = {
  readonly world: World
  readonly orders: readonly LoadOrder[]
  readonly before: Json
  readonly isWhole: boolean
  /** How long sellers may wait for their payouts. */
  readonly patienceMs: number
  readonly interrupt: AbortSignal
}

const AT_ONCE = 8
const AGAIN_MS = 500
const TRIES = 3
const SEEN_TRIES = 20

/** Learns what it can: a market that is on its knees is reported, too. */
export async function gather(market: Market, options: Options): Promise<Evidence> {
  const { world, orders, before, patienceMs, interrupt } = options
  const { operator } = market
  const missing: string[] = []
  const attempt: Attempt = async (what, work) => {
    for (let left = TRIES; ; left--) {
      try {
        return await work()
      } catch (error) {
        const { message } = asTrouble(error)
        if (left > 1) continue
        missing.push(`${what}: ${message}`)
        return null
      }
    }
  }
  let unseen = orders.filter(({ status }) => !isEnded(status))
  // A payment that was sent just before the end is seen a moment later.
  for (let left = SEEN_TRIES; left > 0 && unseen.length > 0; left--) {
    if (left < SEEN_TRIES) await pause(AGAIN_MS)
    await inTurns(unseen, async (order) => void (await attempt(`order ${order.id}`, () => look(market, order))))
    unseen = unseen.filter(({ paid, status }) => paid !== null && status.endsWith('PAYMENT'))
  }
  const isWhole = options.isWhole && !interrupt.aborted
  const until = performance.now() + (isWhole ? patienceMs : 0)
  const reports = operator && (await reportsOf({ operator, attempt }, orders, until, interrupt))
  if (reports) for (const order of orders) recallPayment(order, reports.get(order.id) ?? null)
  const network = world.simulation && (await networkOf({ operator: world.simulation.operator, attempt }, orders))
  return {
    orders,
    isWhole,
    now: Date.now(),
    reports,
    parked: operator && (await attempt('parked messages', () => operator('GET', '/parked'))),
    audit: operator && (await attempt('the audit', () => operator('POST', '/audit/verify', {}))),
    network: world.simulation && network && { ...network, before, marketAlias: world.simulation.marketAlias },
    missing,
  }
}

/** null where it came to nothing after some tries, which is noted. */
type Attempt = <T>(what: string, work: () => Promise<T>) => Promise<T | null>
type Asking = { readonly operator: Operator; readonly attempt: Attempt }

/** Sellers are paid some blocks after their channel is sold, so it is waited for. */
async function reportsOf({ operator, attempt }: Asking, orders: readonly LoadOrder[], until: number, interrupt: AbortSignal) {
  const reports = new Map<string, Json>()
  let open = orders
  do {
    await inTurns(open, async ({ id }) => {
      const report = await attempt(`the report of order ${id}`, () => operator('GET', `/orders/${id}`))
      if (report !== null) reports.set(id, report)
    })
    open = open.filter(({ id }) => isOwed(reports.get(id) ?? null))
  } while (open.length > 0 && performance.now() < until && (await sleepUntil(performance.now() + AGAIN_MS, interrupt)))
  return reports
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

async function networkOf({ operator, attempt }: Asking, orders: readonly LoadOrder[]) {
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
