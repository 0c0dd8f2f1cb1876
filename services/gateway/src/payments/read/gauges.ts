import { type GaugeReader, createSampledGauge } from '@penstock/runtime/observability/gauges.ts'
import type { Gateway } from '../../ports.ts'
import { isOpenTransactionRow, withPaymentsTables } from '../views/tables.ts'

const transactionsOpen = createSampledGauge(
  'penstock_transactions_open',
  'Transactions of the payments API that are pending, by direction.',
  ['direction'],
)
const oldestOverdue = createSampledGauge(
  'penstock_transactions_overdue_oldest_seconds',
  'Time since the end of the pending transaction that is overdue longest, by direction; 0 if none is overdue.',
  ['direction'],
)

/** Samples the gauges of transactions. The index contains only pending transactions, so reading it is cheap. */
export const createPaymentsGaugeReader =
  ({ views, clock }: Pick<Gateway, 'views' | 'clock'>): GaugeReader =>
  async () => {
    const rows = await withPaymentsTables(views)
      .selectFrom('gateway_transactions')
      .select(({ fn }) => ['direction', fn.countAll().as('count'), fn.min('ends_at').as('firstEnd')])
      .where(isOpenTransactionRow)
      .groupBy('direction')
      .execute()
    const now = clock.now()
    return ['RECEIVE', 'SEND'].flatMap((direction) => {
      const { count, firstEnd } = rows.find((row) => row.direction === direction) ?? { count: 0, firstEnd: null }
      const labels = { direction: direction.toLowerCase() }
      const overdueMs = firstEnd === null ? 0 : Math.max(0, now - Number(firstEnd))
      return [
        { gauge: transactionsOpen, labels, value: Number(count) },
        { gauge: oldestOverdue, labels, value: overdueMs / 1000 },
      ]
    })
  }
