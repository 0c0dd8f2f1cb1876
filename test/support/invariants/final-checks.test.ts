import assert from 'node:assert/strict'
import type { OrderStatus } from '@penstock/contracts/order/lifecycle.ts'
import { orderLifecycle } from '@penstock/order/order.ts'
import { expect, test } from 'vitest'
import { checkFinalState } from './final-checks.ts'
import { checkOrders } from './orders.ts'
import { findUncomparedTables } from './read-models.ts'
import type { HeightRange } from './uptime.ts'
import { createOrderModel, type OrderModel } from './order-model.ts'
import {
  type StateMutation,
  createFinalState,
  findOrder,
  type CheckerMutation,
  type FinalStateWithSales,
  findSoldOrder,
  findUnpaidOrder,
  withOrder,
} from './final-state.fixture.ts'
import type { RoundSales } from './purchases.ts'
import { listPendingWork, type PendingWork } from './pending-work.ts'

const withoutPendingWork = (state: FinalStateWithSales, stream: string): FinalStateWithSales => ({
  ...state,
  pendingWork: state.pendingWork.filter((work) => work.stream !== stream),
})

const mutateSales =
  (mutate: (sales: RoundSales) => Partial<RoundSales>): StateMutation =>
  (state) => ({ ...state, sales: { ...state.sales, ...mutate(state.sales) } })

/** Finds the longest range of heights in which the market was up. Mutations move the last height of a hold into this range. */
const findLongestUptime = ({ uptime }: FinalStateWithSales): HeightRange =>
  uptime.toSorted((one, other) => other.to - other.from - (one.to - one.from))[0] ?? assert.fail()
/** Changes a cancelled hold, so that the node itself cancelled it. `expiryHeight` is the expiry height of its payment. */
const cancelByNode = (state: FinalStateWithSales, expiryHeight: number): FinalStateWithSales => {
  const order = findOrder(
    state.orders,
    'was held and released',
    ({ isHeld, cancellations }) => isHeld && cancellations.length > 0,
  )
  const cancellations = order.cancellations.map((one) => ({ ...one, reason: 'node' as const }))
  return withOrder(state, order, { cancellations, expiryHeight })
}

/** Changes a cancelled hold: the cancellation was requested at the start of the longest uptime, and happened at its end. */
const cancelByNodeAfterRequest = (state: FinalStateWithSales): FinalStateWithSales => {
  const order = findOrder(
    state.orders,
    'was held and released',
    ({ isHeld, cancellations }) => isHeld && cancellations.length > 0,
  )
  const { from, to } = findLongestUptime(state)
  const timeAt = (height: number): number => state.blocks.find((block) => block.height === height)?.time ?? assert.fail()
  const cancellations = order.cancellations.map((one) => ({ ...one, reason: 'released' as const, at: timeAt(to) }))
  return withOrder(state, order, { cancellations, cancelRequestedAt: timeAt(from), expiryHeight: to + 12 })
}
const addIncident =
  (incident: string, mutate: (state: FinalStateWithSales) => Partial<OrderModel> = () => ({})): StateMutation =>
  (state) =>
    withOrder(state, findSoldOrder(state.orders), {
      incidents: [{ what: incident, height: findLongestUptime(state).to }],
      ...mutate(state),
    })

/** Mutations of holds. The guard must end each hold before the node does. */
const guardMutations: readonly CheckerMutation[] = [
  [
    'a hold that the guard forgot',
    (state) => cancelByNode(state, findLongestUptime(state).from + 40),
    /the node itself cancelled its hold, and the market was up for 12 blocks/,
  ],
  [
    'a hold that the guard forgot, although the market restarted in time',
    (state) => cancelByNode(state, findLongestUptime(state).from + 20),
    /the node itself cancelled its hold, and the market was up for 8 blocks/,
  ],
  [
    'a hold that the node cancelled too early',
    (state) => cancelByNode(state, state.networkState.height + 100),
    /the node itself cancelled its hold/,
  ],
  [
    'a requested cancellation that the market did not carry out',
    cancelByNodeAfterRequest,
    /should have been cancelled from \d+ on, but the node cancelled it; the market was up for \d{2,} blocks/,
  ],
  [
    'a settlement that the market missed, although it had time',
    addIncident('settle-missed', (state) => ({
      settlementStartedAt: state.blocks.find(({ height }) => height === findLongestUptime(state).from)?.time,
    })),
    /"settle-missed", and the market was up for \d{2,} blocks/,
  ],
  ['an unexplained incident', addIncident('promise-broken'), /nothing explains its incident "promise-broken"/],
]

/** Mutations of orders. Each order must have ended or wait for a party. */
const openOrderMutations: readonly CheckerMutation[] = [
  [
    'an order without a next step',
    (state) => withOrder(state, findUnpaidOrder(state.orders), { status: 'SELLER_SENT_TRANSACTION' }),
    /\(SELLER_SENT_TRANSACTION\) is lost/,
  ],
  [
    'an unpaid order whose invoice has expired without an effect',
    (state) => withOrder(state, findUnpaidOrder(state.orders), { status: 'WAITING_FOR_BUYER_PAYMENT' }),
    /\(WAITING_FOR_BUYER_PAYMENT\) is lost/,
  ],
  [
    'a paid order that waits for its payment',
    (state) => {
      const order = findUnpaidOrder(state.orders)
      const work = { stream: `settlement-${order.id}`, party: 'the buyer', step: 'deadline expire' }
      const pendingState = { ...state, pendingWork: [...state.pendingWork, work] }
      return withOrder(pendingState, order, { status: 'WAITING_FOR_BUYER_PAYMENT', isHeld: true })
    },
    /\(WAITING_FOR_BUYER_PAYMENT\) is lost/,
  ],
  [
    'a lease that is not watched',
    (state) => {
      const order = findSoldOrder(state.orders)
      return withOrder(withoutPendingWork(state, `channel-${order.id}`), order, { status: 'VALID_CHANNEL_OPENING' })
    },
    /\(VALID_CHANNEL_OPENING\) is lost/,
  ],
  [
    'a lease that does not end',
    (state) => {
      const { id } = findSoldOrder(state.orders)
      const { height } = state.networkState
      const steps = [
        { kind: 'deadline', step: 'recheck', due: { height: height - 3 }, command: { type: 'Recheck', data: {} } },
      ] as const
      const pendingWork = listPendingWork([{ stream: `channel-${id}`, state: { status: 'LEASED' }, steps }], { at: 0, height })
      return { ...state, pendingWork: [...state.pendingWork, ...pendingWork] }
    },
    /waits for no known party: deadline recheck/,
  ],
  [
    'a quote that did not become an order',
    (state) => withOrder(state, findUnpaidOrder(state.orders), { status: undefined }),
    /\(no order\) is lost/,
  ],
]

/** Mutations of the purchases. At least two of three planned buyers must get an invoice. */
const salesMutations: readonly CheckerMutation[] = [
  [
    'an order that the market does not know',
    mutateSales(({ boughtIds }) => ({ boughtIds: [...boughtIds, '00000000-0000-4000-8000-000000000000'] })),
    /was given order 0{8}-.*, and the market has none/,
  ],
  [
    'a round in which too few buyers could buy',
    mutateSales(({ boughtIds }) => ({ plannedCount: 15, boughtIds: boughtIds.slice(0, 9) })),
    /only 4 of 15 buyers/,
  ],
  [
    'a buyer that was refused although the market sells',
    mutateSales(({ plannedCount }) => ({ plannedCount: plannedCount + 1, refusals: ['Error: nobody sells'] })),
    /was refused after the end of all faults: Error: nobody sells/,
  ],
  [
    'a buyer with neither an order nor a refusal',
    mutateSales(({ plannedCount }) => ({ plannedCount: plannedCount + 1 })),
    /buyers were planned/,
  ],
  [
    'rounds without a purchase by LSPS1',
    (state) => ({ ...state, orders: state.orders.map((order) => ({ ...order, source: 'buy' as const })) }),
    /no order by LSPS1/,
  ],
  [
    'rounds without a purchase by GraphQL',
    (state) => ({ ...state, orders: state.orders.map((order) => ({ ...order, source: 'lsps1-cheapest' as const })) }),
    /no order by GraphQL/,
  ],
]

/** Mutations of the market's process and stores. */
const marketMutations: readonly CheckerMutation[] = [
  ['a market that fails when it is stopped', (state) => ({ ...state, exitCode: 1 }), /the market exited with 1 when/],
  ['a market that has to be killed', (state) => ({ ...state, exitCode: null }), /the market exited with null when/],
  ['a parked message', (state) => ({ ...state, parked: [{ key: 'order-1' }] }), /^parked: .*"order-1"/],
  [
    'a fact that was edited',
    (state) => ({ ...state, auditReport: { ...state.auditReport, divergences: 1 } }),
    /the audit found \{"divergences":1/,
  ],
  [
    'postings that do not add up',
    (state) => ({ ...state, auditReport: { ...state.auditReport, ledger_balanced: false } }),
    /the audit found .*"ledger_balanced":false/,
  ],
  ['a read model that is behind', (state) => ({ ...state, unreadFacts: ['they are behind'] }), /^they are behind$/],
  ['a row that does not follow from the facts', (state) => ({ ...state, rowDifferences: ['a strange row'] }), /^a strange row$/],
]

test('checkFinalState accepts a state without a mutation', () => expect(checkFinalState(createFinalState())).toEqual([]))

test.each([...guardMutations, ...openOrderMutations, ...salesMutations, ...marketMutations])(
  'checkFinalState reports %s',
  (_, mutate, message) => {
    expect(checkFinalState(mutate(createFinalState()))).toContainEqual(expect.stringMatching(message))
  },
)

test('checkOrders reports an order in every status, unless the order has ended or may wait for a party', () => {
  const order = findUnpaidOrder(createFinalState().orders)
  const { edges } = orderLifecycle
  const statuses = new Set(edges.map(([, , to]) => to))
  const allPendingWork = ['settlement', 'channel'].map((category) => ({
    stream: `${category}-${order.id}`,
    party: 'somebody',
    step: 'it',
  }))
  const isReportedLost = (status: string, pendingWork: readonly PendingWork[]): boolean =>
    checkOrders([{ ...order, status: status as OrderStatus }], pendingWork).length > 0 // The state machine has the names of order statuses.
  const isOver = (status: string): boolean => edges.every(([from, , to]) => from !== status || to === status)
  // A sold order has not ended until its channel lease ends, so it counts as lost without pending work.
  for (const status of statuses) expect([status, isReportedLost(status, [])]).toEqual([status, !isOver(status)])
  const waiting = [...statuses].filter((status) => !isOver(status) && !isReportedLost(status, allPendingWork))
  expect(waiting.toSorted()).toEqual(['VALID_CHANNEL_OPENING', 'WAITING_FOR_BUYER_PAYMENT'])
})

test('checkOrders reports a quote without an order, unless the command to place it may be late', () => {
  const quoted = createOrderModel('quoted')
  const isReportedLost = (change: Partial<typeof quoted>) => checkOrders([{ ...quoted, ...change }], []).length > 0
  expect([{}, { placeBefore: 1 }, { placeBefore: 1, paymentHashes: ['a'] }].map(isReportedLost)).toEqual([true, false, true])
})

test('findUncomparedTables reports a table that no projection declares', () => {
  expect(findUncomparedTables(['gateway_orders', 'gateway_news', 'gateway_commands'], ['gateway_orders'])).toEqual([
    expect.stringMatching(/makes gateway_news/),
  ])
})
