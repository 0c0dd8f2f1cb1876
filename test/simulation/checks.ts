import { contractOf } from '@penstock/contracts/all.ts'
import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Simnet } from '@penstock/adapters/simnet/simnet.ts'
import type { EventMemory } from '@penstock/adapters/memory/event-store.ts'
import { aggregateIdOf, categoryOf } from '@penstock/ports/event-store.ts'
import { aggregatesOf, checkedStep, type Folded, unfolded } from '@penstock/runtime/audit-fold.ts'
import { eventOf } from '@penstock/runtime/event-codec.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { audited } from '@penstock/standalone/services.ts'
import type { Asking } from '../faults/fold.ts'
import { type Edges, noteEdges } from './edges.ts'

/** A statement that has to hold and does not. */
export class Broken extends Error {
  override readonly name = 'Broken'
  readonly invariant: string
  constructor(invariant: string, what: string) {
    super(`${invariant}: ${what}`)
    this.invariant = invariant
  }
}

/** Everything that was appended so far, folded by today's code and checked event by event. */
export type Ledger = {
  readonly events: readonly Event[]
  /** Takes in what is new. @throws Broken where a hash, a place or an edge is wrong */
  catchUp(): void
  state(stream: string): unknown
  asking(): readonly Asking[]
}

export function follow({ log }: EventMemory, edges: Edges): Ledger {
  const aggregates = aggregatesOf(audited())
  const folds = new Map<string, Folded>()
  const events: Event[] = []
  const aggregateOf = (stream: string) => {
    const found = aggregates.get(categoryOf(stream))
    if (!found) throw new Broken('owners', `no service owns ${stream}`)
    return found
  }
  return {
    events,
    catchUp() {
      for (let event = log[events.length]; event; event = log[events.length]) {
        const aggregate = aggregateOf(event.stream)
        const before = folds.get(event.stream) ?? unfolded(aggregate)
        const after = checkedStep(aggregate, before, event)
        if ('what' in after) throw new Broken('streams', `${event.stream} ${event.revision} ${event.type}: ${after.what}`)
        noteEdges(edges, categoryOf(event.stream), before.state, after.state, after.fact)
        folds.set(event.stream, after)
        events.push(eventOf(contractOf(categoryOf(event.stream)), event))
      }
    },
    state: (stream) => folds.get(stream)?.state,
    asking: () =>
      [...folds].flatMap(([stream, { state }]) => {
        const steps = aggregateOf(stream).process?.(state, aggregateIdOf(stream)) ?? []
        return steps.length === 0 ? [] : [{ stream, state, steps }]
      }),
  }
}

/** What can be said of money at every moment, whatever is under way. */
export function moneyAtAnyTime({ rows }: Simnet, market: string, { events }: Ledger): void {
  const told = toldOfMoney(events)
  for (const { payment_hash } of rows<Hashed>(
    `SELECT payment_hash FROM invoices WHERE node = '${market}' AND state = 'settled'`,
  )) {
    const order = told.orders.get(payment_hash)
    if (order === undefined || !told.proven.has(order))
      throw new Broken('settled only when proven', `${payment_hash} of order ${order ?? 'nobody'} is settled at the node`)
  }
  for (const { payment_hash } of rows<Hashed>(
    `SELECT payment_hash FROM htlcs WHERE receiver = '${market}' AND is_last = 1 AND state = 'held'`,
  )) {
    const order = told.orders.get(payment_hash)
    if (order !== undefined && told.givenBack.has(order))
      throw new Broken('given back when it is said so', `${payment_hash} of order ${order} is still held`)
  }
  const paid = new Map<string, string>()
  for (const { payment_hash, payee } of rows<Hashed & { payee: string }>(
    `SELECT payment_hash, payee FROM payments WHERE payer = '${market}' AND state = 'succeeded'`,
  )) {
    const order = told.payouts.get(payment_hash)
    if (order === undefined) throw new Broken('paid for an order', `${payment_hash} was paid to ${payee} for nobody's order`)
    if (paid.has(order)) throw new Broken('paid once', `order ${order} was paid by ${paid.get(order)} and by ${payment_hash}`)
    paid.set(order, payment_hash)
  }
}

type Hashed = { readonly payment_hash: string }

/** What the streams of settlement say, by payment hash and by order. */
function toldOfMoney(events: readonly Event[]) {
  const orders = new Map<string, string>()
  const payouts = new Map<string, string>()
  const proven = new Set<string>()
  const givenBack = new Set<string>()
  for (const { category, aggregateId: order, fact } of events) {
    if (category !== 'settlement') continue
    const { type, data } = fact as SettlementFact // the category's own
    if (type === 'HoldRequested') orders.set(data.paymentHash, order)
    if (type === 'PayoutInvoiceOffered') payouts.set(data.paymentHash, order)
    if (type === 'SettleRequested') proven.add(order)
    if (type === 'HoldCancelled') givenBack.add(order)
    // Made late, or paid late: it is given back once more.
    if (type === 'HoldIssued' || type === 'HoldHeld') givenBack.delete(order)
  }
  return { orders, payouts, proven, givenBack }
}
