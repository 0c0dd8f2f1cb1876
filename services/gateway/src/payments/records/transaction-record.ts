import {
  findTransactionEventType,
  type TransactionEventType,
  type TransactionStatus,
} from '@penstock/contracts/payments/lifecycle.ts'
import type { FailureReason } from '@penstock/contracts/payments/shapes.ts'
import type { TransactionTexts } from '@penstock/contracts/payments/texts.ts'
import { assert } from '@penstock/kernel/result.ts'
import { msatToSatCeil } from '@penstock/kernel/money.ts'
import { isoTime } from '@penstock/kernel/time.ts'
import type { Gateway } from '../../ports.ts'
import { readRecordText, type RecordReader } from '../../read-record-text.ts'
import { listTransactionFacts, type StoredTransaction, type TransactionFactRow } from '../read/transactions.ts'
import { toSettledUnits } from '@penstock/contracts/payments/settled-units.ts'
import { requireAsset, toAmountRecord, toBitcoinAssetRecord } from './asset-record.ts'

type RecordPorts = Pick<Gateway, 'views' | 'records'>

/** A transaction with its texts, if the request has just stored them. */
export type RequestedTransaction = StoredTransaction & { readonly texts?: TransactionTexts }

const failureTexts: Readonly<Record<FailureReason, string>> = {
  sandbox: 'The sandbox let this transaction fail, as its metadata requested (svc_sandbox_behavior: fail).',
}

/** Returns a transaction as it is listed. */
export function toSimpleTransactionRecord(records: RecordReader, stored: RequestedTransaction) {
  const { id, status, view } = stored
  assert(status, `transaction ${id} is shown although another send stands for it`)
  const asset = requireAsset(view.assetId)
  const { amount, amountMsat, rate, settlement } = view
  const readText = createTextReader(records, stored)
  return {
    id,
    wallet_id: view.walletId,
    direction: view.direction,
    status: status satisfies TransactionStatus,
    amount: toAmountRecord(`${id}/amount`, asset, {
      units: BigInt(amount),
      amountMsat: amountMsat === null ? null : BigInt(amountMsat),
      rate,
    }),
    asset: toBitcoinAssetRecord(asset),
    fee: settlement && settlement.feeMsat !== null ? `${msatToSatCeil(BigInt(settlement.feeMsat))}` : null,
    description: () => readText('description'),
    metadata: () => readText('metadata'),
    settled_at: settlement && isoTime(settlement.at),
    created_at: isoTime(view.createdAt),
    updated_at: isoTime(view.updatedAt),
  }
}

/** Returns a transaction with all of its fields. */
export function toTransactionRecord(gateway: RecordPorts, stored: RequestedTransaction) {
  const { id, view } = stored
  const { amountMsat, failure, paymentHash, expiresAt } = view
  const readText = createTextReader(gateway.records, stored)
  const settleAmount = toSettleAmountRecord(stored)
  return {
    ...toSimpleTransactionRecord(gateway.records, stored),
    node_id: null,
    idempotency_key: async () => (await readText('idempotencyKey')) ?? '',
    amount_sats: amountMsat === null ? null : `${msatToSatCeil(BigInt(amountMsat))}`,
    settle_amount: settleAmount,
    settle_amount_sats: settleAmount?.full_amount ?? null,
    exchange_rate: null,
    payment_request: () => readText('invoice'),
    payment_hash: paymentHash,
    preimage: null,
    error: failure && failureTexts[failure],
    expires_at: expiresAt === null ? null : isoTime(expiresAt),
    events: async () => (await listTransactionFacts(gateway.views, id)).flatMap(toEventRecords),
  }
}

function toSettleAmountRecord({ id, view }: StoredTransaction) {
  const { direction, assetId, settlement } = view
  if (!settlement) return null
  return toAmountRecord(`${id}/settle_amount`, requireAsset(assetId), {
    units: toSettledUnits({ direction, assetId, settlement }).amount,
    amountMsat: BigInt(settlement.amountMsat),
    rate: settlement.rate,
  })
}

/** Reads the record of the texts once, however many of them a document requests. */
function createTextReader(records: RecordReader, { view, texts }: RequestedTransaction) {
  let stored: ReturnType<typeof records.get> | undefined
  const readOnce = { get: (id: string) => (stored ??= records.get(id)) }
  return async (field: keyof TransactionTexts): Promise<string | null> =>
    texts ? texts[field] : ((await readRecordText(readOnce, view.textRecord, field)) ?? null)
}

const eventMessages: Readonly<Record<TransactionEventType, string>> = {
  'payment.pending': 'The transaction awaits its payment.',
  'payment.completed': 'The transaction was paid.',
  'payment.failed': 'The transaction failed.',
  'payment.expired': 'The invoice expired before it was paid.',
}

/** Returns the event of the timeline that shows the fact; none for a step that callers do not see. */
function toEventRecords({ id, type, reason, at }: TransactionFactRow) {
  const event_type = findTransactionEventType(type)
  if (event_type === undefined) return []
  const details = reason === null ? null : JSON.stringify({ reason })
  return [{ id, event_type, message: eventMessages[event_type], details, created_at: isoTime(at) }]
}
