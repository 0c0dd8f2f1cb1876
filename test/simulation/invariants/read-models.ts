import { isDeepStrictEqual } from 'node:util'
import type { ChannelFact } from '@penstock/contracts/channel.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { evolveChannelView, type ChannelView } from '@penstock/gateway/market/views/channel-view.ts'
import { evolveHoldView, type HoldView } from '@penstock/gateway/market/views/hold-view.ts'
import { isOpenStatus } from '@penstock/contracts/order/lifecycle.ts'
import { isAwaitingPayment, evolveOrderView, type OrderView } from '@penstock/gateway/market/views/order-view.ts'
import { toSaleRows } from '@penstock/gateway/market/views/sales.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { owedMsat } from '@penstock/settlement/payout/ledger.ts'
import { payableInvoice } from '@penstock/settlement/payout/payout.decide.ts'
import { evolve, initial, type Settlement } from '@penstock/settlement/state.ts'
import { InvariantViolation, type FoldedLog } from './folded-log.ts'
import type { SimulatedWorld } from '../world/simulated-world.ts'

const READER_NAME = 'gateway.orders.v2'
const TABLES = [
  'progress_streams',
  'gateway_orders_v2',
  'gateway_holds_v2',
  'gateway_channels_v2',
  'gateway_sales_v2',
  'gateway_order_facts_v2',
]

type ViewDatabase = SimulatedWorld['views']
type StreamProgress = { readonly consumer: string; readonly stream: string; readonly revision: number }
/** The revision up to which a stream was compared, and the view that its facts up to this revision give. */
type ComparedStream = { readonly revision: number; readonly view: object | undefined }

/**
 * Creates a check of the read models. They may lag behind the streams, but must not contain a fact that was not appended. The
 * rows of an order always match its facts up to the stored revision. Only streams whose stored revision has changed are compared.
 * A finished stream has no stored revision; the final checks compare it.
 * @returns a check, which returns false if it could not run because a transaction was open
 */
export function createReadModelCheck({ views }: SimulatedWorld, log: FoldedLog): () => boolean {
  const streams = new Map<string, Event[]>()
  const compared = new Map<string, ComparedStream>()
  let [nextEvent, haveTables] = [0, false]
  return () => {
    for (const event of log.events.slice(nextEvent)) {
      const stream = `${event.category}-${event.aggregateId}`
      const streamEvents = streams.get(stream)
      if (streamEvents) streamEvents.push(event)
      else streams.set(stream, [event])
    }
    nextEvent = log.events.length
    if (!hasNoOpenTransaction(views)) return false
    if (!(haveTables ||= hasTables(views))) return true
    for (const { consumer, stream, revision } of views.rows<StreamProgress>(
      'SELECT consumer, stream, revision FROM progress_streams',
    )) {
      const events = streams.get(stream) ?? []
      if (revision >= events.length)
        throw new InvariantViolation(
          'read models follow the streams',
          `the progress of ${stream} is ${revision}, but the stream ends at ${events.length - 1}`,
        )
      const previous = compared.get(stream) ?? { revision: -1, view: undefined }
      if (consumer !== READER_NAME || revision === previous.revision) continue
      if (revision < previous.revision)
        throw new InvariantViolation(
          'read models follow the streams',
          `the progress of ${stream} went back from ${previous.revision} to ${revision}`,
        )
      const view = events.slice(previous.revision + 1, revision + 1).reduce(viewAfter, previous.view)
      compared.set(stream, { revision, view })
      const isLast = revision === events.length - 1
      const [difference] = findDifferences(views, events.slice(0, revision + 1), view, isLast ? log.state(stream) : undefined)
      if (difference !== undefined)
        throw new InvariantViolation('read models match their facts', `${stream}, read up to ${revision}: ${difference}`)
    }
    return true
  }
}

/** Whether no transaction is open. The database rejects reads while rows are uncommitted. */
export function hasNoOpenTransaction(views: ViewDatabase): boolean {
  try {
    views.rows('SELECT 1')
    return true
  } catch {
    return false
  }
}

/** Whether all tables exist. The first gateway creates them at its start. */
const hasTables = (views: ViewDatabase): boolean =>
  views.rows(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name IN (${TABLES.map((name) => `'${name}'`).join()})`)
    .length === TABLES.length

/** Applies a fact to the view of its stream. The casts are safe because the category determines both types. */
function viewAfter(view: object | undefined, event: Event): object | undefined {
  switch (event.category) {
    case 'order':
      return evolveOrderView(view as OrderView | undefined, event as Event<OrderFact>)
    case 'settlement':
      return evolveHoldView(view as HoldView | undefined, event as Event<SettlementFact>)
    case 'channel':
      return evolveChannelView(view as ChannelView | undefined, event as Event<ChannelFact>)
    default:
      return undefined
  }
}

type ViewRow = Readonly<Record<string, unknown>>

/** @param state the stream's folded state if the read model has applied the whole stream, otherwise undefined */
function findDifferences(
  views: ViewDatabase,
  events: readonly Event[],
  view: object | undefined,
  state: unknown,
): readonly string[] {
  if (!view) return []
  const id = events[0]?.aggregateId ?? ''
  const compare = (table: string, columns: string, key: string, expected: readonly object[]): readonly string[] => {
    const rows = views.rows<ViewRow>(`SELECT ${columns} FROM ${table} WHERE ${key} = ? ORDER BY 1`, id).map(parseRow)
    // Rows contain values as JSON, so the expected values are converted too.
    const expectedRows = JSON.parse(JSON.stringify(expected)) as readonly object[]
    return isDeepStrictEqual(rows, expectedRows)
      ? []
      : [`${table} has ${JSON.stringify(rows)}, the facts make ${JSON.stringify(expectedRows)}`]
  }
  const factDifferences = checkStoredFacts(views, events)
  switch (events[0]?.category) {
    case 'order': {
      const order = view as OrderView
      const row = {
        status: order.status,
        open: Number(isOpenStatus(order.status)),
        to_pay: Number(isAwaitingPayment(order)),
        view: order,
      }
      const ownStatus = (state as { readonly status: string } | undefined)?.status ?? order.status
      return [
        ...factDifferences,
        ...(ownStatus === order.status ? [] : [`the view has the status ${order.status}, and the order ${ownStatus}`]),
        ...compare('gateway_orders_v2', 'status, open, to_pay, view', 'id', [row]),
        ...compare(
          'gateway_sales_v2',
          'account_id, seller_pubkey, attempt, current, action_needed',
          'order_id',
          listExpectedSales(order),
        ),
      ]
    }
    case 'settlement': {
      const hold = view as HoldView
      const row = { invoice_due: Number(isPayoutInvoiceDue(events as readonly Event<SettlementFact>[])), view: hold }
      return [...factDifferences, ...compare('gateway_holds_v2', 'invoice_due, view', 'order_id', [row])]
    }
    default:
      return [...factDifferences, ...compare('gateway_channels_v2', 'view', 'order_id', [{ view }])]
  }
}

/** Computes whether a payout invoice is due by the rule of settlement, to check the separate rule of the read model. */
function isPayoutInvoiceDue(events: readonly Event<SettlementFact>[]): boolean {
  const state = events.reduce<Settlement>((previous, { fact }) => evolve(previous, fact), initial)
  const { creditor, paid, paying } = state.payout
  // The ledger decides, because a read model may have applied only a part of the facts that were appended together.
  return owedMsat(state.balances) > 0n && creditor === 'seller' && !paid && !paying && !payableInvoice(state)
}

const listExpectedSales = (order: OrderView): readonly object[] =>
  toSaleRows(order)
    .map(({ accountId, sellerPubkey, attempt, isCurrent, actionNeeded }) => ({
      account_id: accountId,
      seller_pubkey: sellerPubkey,
      attempt,
      current: Number(isCurrent),
      action_needed: Number(actionNeeded),
    }))
    .toSorted((a, b) => (a.account_id < b.account_id ? -1 : 1))

const parseRow = (row: ViewRow): object =>
  'view' in row ? { ...row, view: JSON.parse(String(row['view'])) as unknown } : { ...row }

type StoredFactRow = { readonly event_id: string; readonly revision: number; readonly type: string; readonly data: string }

/** Checks that the read model stores each fact once and unchanged. */
function checkStoredFacts(views: ViewDatabase, events: readonly Event[]): readonly string[] {
  const [{ aggregateId, category } = { aggregateId: '', category: '' }] = events
  const sql =
    'SELECT event_id, revision, type, data FROM gateway_order_facts_v2 WHERE order_id = ? AND category = ? ORDER BY revision'
  const rows = views.rows<StoredFactRow>(sql, aggregateId, category)
  if (rows.length !== events.length) return [`${rows.length} of its facts are stored instead of ${events.length}`]
  const difference = events.find(({ id, revision, fact }, index) => {
    const row = rows[index]
    return (
      row?.event_id !== id ||
      row.revision !== revision ||
      row.type !== fact.type ||
      !isDeepStrictEqual(JSON.parse(row.data), fact.data)
    )
  })
  return difference ? [`its fact ${difference.revision} ${difference.fact.type} differs from the stored one`] : []
}
