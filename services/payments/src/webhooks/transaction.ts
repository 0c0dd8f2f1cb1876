import type { ReceiveFact } from '@penstock/contracts/payments/receive.ts'
import type { SendFact } from '@penstock/contracts/payments/send.ts'
import { findTransactionStatus } from '@penstock/contracts/payments/lifecycle.ts'
import type { TransactionTexts } from '@penstock/contracts/payments/texts.ts'
import { createTransactionView, evolveTransactionView } from '@penstock/contracts/payments/transaction-view.ts'
import { assert } from '@penstock/kernel/result.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { ReportedTransaction } from './body.ts'
import type { WebhookPorts } from './ports.ts'

type TransactionFact = ReceiveFact | SendFact

/** Reads a transaction as it was after one of its facts. */
export async function readTransaction(
  { facts, records }: Pick<WebhookPorts, 'facts' | 'records'>,
  { category, aggregateId: id, revision, fact }: Event<TransactionFact>,
  toEvent: (stored: StoredEvent) => Event,
) {
  const stored = await facts.read(`${category}-${id}`, 0, revision + 1)
  const [first, ...later] = stored.map((event) => toEvent(event) as Event<TransactionFact>) // the stream has facts of its category
  assert(first?.fact.type === 'ReceiveRequested' || first?.fact.type === 'SendRequested', `${category}-${id} begins otherwise`)
  let view = createTransactionView(first.fact, first.at)
  for (const { fact: next, at } of later) {
    assert(next.type !== 'ReceiveRequested' && next.type !== 'SendRequested', `${category}-${id} begins twice`)
    view = evolveTransactionView(view, next, at)
  }
  const status = findTransactionStatus(fact.type)
  assert(status, `${category}-${id} is reported although another send stands for it`)
  const { environmentType } = first.fact.data
  return {
    view,
    async withTexts(): Promise<ReportedTransaction> {
      const record = await records.get(view.textRecord)
      const texts = record && (JSON.parse(record.json) as TransactionTexts) // the gateway wrote the record in this shape
      return { id, environmentType, status, view, texts }
    },
  }
}
