import { isDeepStrictEqual } from 'node:util'
import type { ChannelFact } from '@penstock/contracts/channel.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { channelView, type ChannelView } from '@penstock/gateway/views/channel-view.ts'
import { holdView, type HoldView } from '@penstock/gateway/views/hold-view.ts'
import { isOpen } from '@penstock/gateway/views/order-status.ts'
import { isToPay, orderView, type OrderView } from '@penstock/gateway/views/order-view.ts'
import { salesOf } from '@penstock/gateway/views/sales.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { owedMsat } from '@penstock/settlement/ledger.ts'
import { payableInvoice } from '@penstock/settlement/payout.decide.ts'
import { evolve, initial, type Settlement } from '@penstock/settlement/state.ts'
import { Broken, type Ledger } from './checks.ts'
import type { World } from './world.ts'

const READER = 'gateway.orders.v2'
const TABLES = [
  'progress_streams',
  'gateway_orders_v2',
  'gateway_holds_v2',
  'gateway_channels_v2',
  'gateway_sales_v2',
  'gateway_order_facts_v2',
]

type Database = World['views']
type Progress = { readonly consumer: string; readonly stream: string; readonly revision: number }
/** How far a stream was compared, and what its facts make of it until there. */
type Compared = { readonly revision: number; readonly view: object | undefined }

/**
 * Read models may lag behind the streams, and never know what nobody has appended; what they show of an order is at every
 * moment what the facts say that they have read. Only what has gone on since the last look is compared. What a stream's
 * progress is not kept of any more is finished, and compared at the end.
 * @returns a look; whether it could be taken, which it cannot while somebody's transaction is open
 */
export function viewsAsTold({ views }: World, ledger: Ledger): () => boolean {
  const streams = new Map<string, Event[]>()
  const compared = new Map<string, Compared>()
  let [seen, areMade] = [0, false]
  return () => {
    for (const event of ledger.events.slice(seen)) {
      const stream = `${event.category}-${event.aggregateId}`
      const known = streams.get(stream)
      if (known) known.push(event)
      else streams.set(stream, [event])
    }
    seen = ledger.events.length
    if (!isQuiet(views)) return false
    if (!(areMade ||= hasTables(views))) return true
    for (const { consumer, stream, revision } of views.rows<Progress>(
      'SELECT consumer, stream, revision FROM progress_streams',
    )) {
      const events = streams.get(stream) ?? []
      if (revision >= events.length)
        throw new Broken('read models are behind', `${stream} was read up to ${revision}, and ends at ${events.length - 1}`)
      const before = compared.get(stream) ?? { revision: -1, view: undefined }
      if (consumer !== READER || revision === before.revision) continue
      if (revision < before.revision)
        throw new Broken('read models are behind', `${stream} was read up to ${before.revision}, and now to ${revision}`)
      const view = events.slice(before.revision + 1, revision + 1).reduce(viewAfter, before.view)
      compared.set(stream, { revision, view })
      const isLast = revision === events.length - 1
      const [wrong] = differencesOf(views, events.slice(0, revision + 1), view, isLast ? ledger.state(stream) : undefined)
      if (wrong !== undefined) throw new Broken('read models say what was told', `${stream}, read up to ${revision}: ${wrong}`)
    }
    return true
  }
}

/** What is not committed is nobody else's to see. */
export function isQuiet(views: Database): boolean {
  try {
    views.rows('SELECT 1')
    return true
  } catch {
    return false
  }
}

/** The first gateway makes them at its start. */
const hasTables = (views: Database): boolean =>
  views.rows(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name IN (${TABLES.map((name) => `'${name}'`).join()})`)
    .length === TABLES.length

/** A category has its own facts, and a stream one view. */
function viewAfter(view: object | undefined, event: Event): object | undefined {
  switch (event.category) {
    case 'order':
      return orderView(view as OrderView | undefined, event as Event<OrderFact>)
    case 'settlement':
      return holdView(view as HoldView | undefined, event as Event<SettlementFact>)
    case 'channel':
      return channelView(view as ChannelView | undefined, event as Event<ChannelFact>)
    default:
      return undefined
  }
}

type Row = Readonly<Record<string, unknown>>

/** @param state of the service that owns the stream, where the reader has read all of it */
function differencesOf(views: Database, events: readonly Event[], view: object | undefined, state: unknown): readonly string[] {
  if (!view) return []
  const id = events[0]?.aggregateId ?? ''
  const compare = (table: string, columns: string, key: string, wanted: readonly object[]): readonly string[] => {
    const rows = views.rows<Row>(`SELECT ${columns} FROM ${table} WHERE ${key} = ? ORDER BY 1`, id).map(parsed)
    // As they come out of a row.
    const due = JSON.parse(JSON.stringify(wanted)) as readonly object[]
    return isDeepStrictEqual(rows, due) ? [] : [`${table} has ${JSON.stringify(rows)}, the facts make ${JSON.stringify(due)}`]
  }
  const told = factsOf(views, events)
  switch (events[0]?.category) {
    case 'order': {
      const order = view as OrderView
      const row = { status: order.status, open: Number(isOpen(order.status)), to_pay: Number(isToPay(order)), view: order }
      const own = (state as { readonly status: string } | undefined)?.status ?? order.status
      return [
        ...told,
        ...(own === order.status ? [] : [`it is shown as ${order.status}, and is ${own}`]),
        ...compare('gateway_orders_v2', 'status, open, to_pay, view', 'id', [row]),
        ...compare('gateway_sales_v2', 'account_id, seller_pubkey, attempt, current, action_needed', 'order_id', salesDue(order)),
      ]
    }
    case 'settlement': {
      const hold = view as HoldView
      const row = { invoice_due: Number(isInvoiceDue(events as readonly Event<SettlementFact>[])), view: hold }
      return [...told, ...compare('gateway_holds_v2', 'invoice_due, view', 'order_id', [row])]
    }
    default:
      return [...told, ...compare('gateway_channels_v2', 'view', 'order_id', [{ view }])]
  }
}

/** As settlement itself sees it of a seller, since only it knows what it waits for: a rule that the read model has wrong is found. */
function isInvoiceDue(events: readonly Event<SettlementFact>[]): boolean {
  const state = events.reduce<Settlement>((before, { fact }) => evolve(before, fact), initial)
  const { creditor, paid, paying } = state.payout
  // By the books: a loss is refuted, and what was owed of it posted back, in one append that is read fact by fact.
  return owedMsat(state.balances) > 0n && creditor === 'seller' && !paid && !paying && !payableInvoice(state)
}

const salesDue = (order: OrderView): readonly object[] =>
  salesOf(order)
    .map(({ accountId, sellerPubkey, attempt, current, actionNeeded }) => ({
      account_id: accountId,
      seller_pubkey: sellerPubkey,
      attempt,
      current: Number(current),
      action_needed: Number(actionNeeded),
    }))
    .toSorted((one, other) => (one.account_id < other.account_id ? -1 : 1))

/** A view is kept as JSON. */
const parsed = (row: Row): object => ('view' in row ? { ...row, view: JSON.parse(String(row['view'])) as unknown } : { ...row })

type Kept = { readonly event_id: string; readonly revision: number; readonly type: string; readonly data: string }

/** Every fact that was read is in the order's list, once and as it was told; one of an earlier release may lack a newer field. */
function factsOf(views: Database, events: readonly Event[]): readonly string[] {
  const [{ aggregateId, category } = { aggregateId: '', category: '' }] = events
  const sql =
    'SELECT event_id, revision, type, data FROM gateway_order_facts_v2 WHERE order_id = ? AND category = ? ORDER BY revision'
  const rows = views.rows<Kept>(sql, aggregateId, category)
  if (rows.length !== events.length) return [`${rows.length} of its facts are kept, not ${events.length}`]
  const wrong = events.find(({ id, revision, fact }, place) => {
    const row = rows[place]
    return row?.event_id !== id || row.revision !== revision || row.type !== fact.type || !isPart(row.data, fact.data)
  })
  return wrong ? [`its fact ${wrong.revision} ${wrong.fact.type} is kept as another`] : []
}

function isPart(text: string, data: object): boolean {
  const told = new Map(Object.entries(data))
  return Object.entries(JSON.parse(text) as object).every(([key, value]) => isDeepStrictEqual(value, told.get(key)))
}
