import { btcAsset, findAsset } from '@penstock/contracts/payments/assets.ts'
import type { TransactionEventType, TransactionStatus } from '@penstock/contracts/payments/lifecycle.ts'
import { toSettledUnits } from '@penstock/contracts/payments/settled-units.ts'
import type { EnvironmentType } from '@penstock/contracts/payments/shapes.ts'
import type { TransactionTexts } from '@penstock/contracts/payments/texts.ts'
import type { TransactionView } from '@penstock/contracts/payments/transaction-view.ts'
import { msatToSatCeil } from '@penstock/kernel/money.ts'
import { isoTime } from '@penstock/kernel/time.ts'

/** The event that an endpoint gets at its owner's request. Endpoints do not subscribe to it. */
export const TEST_EVENT_TYPE = 'webhook.test'

export type ReportedTransaction = {
  readonly id: string
  readonly environmentType: EnvironmentType
  readonly status: TransactionStatus
  readonly view: TransactionView
  /** Undefined after their deletion. */
  readonly texts: Pick<TransactionTexts, 'description' | 'metadata' | 'invoice'> | undefined
}

/** The id of an event in its body. It is stable across attempts, so receivers recognise a repetition by it. */
export const envelopeIdOf = (type: string, subjectId: string): string => `${type}:${subjectId}`

/** @returns the JSON text that reports an event of a transaction, as specified for webhook envelopes */
export function buildTransactionBody(type: TransactionEventType, transaction: ReportedTransaction): string {
  const { id, environmentType, status, view, texts } = transaction
  const { walletId, environmentId, assetId, settlement, paymentHash, expiresAt } = view
  const settled = settlement && toSettledUnits({ direction: view.direction, assetId, settlement })
  const withoutMetadata = JSON.stringify({
    id: envelopeIdOf(type, id),
    event_type: type,
    environment: environmentType.toLowerCase(),
    environment_id: environmentId,
    wallet_id: walletId,
    node_id: null,
    data: {
      id,
      direction: view.direction.toLowerCase(),
      status: status.toLowerCase(),
      payment_details: { payment_type: 'bolt11', payment_request: texts?.invoice ?? null, payment_hash: paymentHash },
      amount: toAmount(BigInt(view.amount), assetId),
      fee: settlement?.feeMsat ? toAmount(msatToSatCeil(BigInt(settlement.feeMsat)), btcAsset.id) : null,
      settle_amount: settled && toAmount(settled.amount, assetId),
      exchange_rate: null,
      description: texts?.description ?? null,
      settled_at: settlement && isoTime(settlement.at),
      expires_at: expiresAt === null ? null : isoTime(expiresAt),
    },
  })
  // Parsed and written again, metadata could change: numbers lose digits, and repeated keys vanish.
  return `${withoutMetadata.slice(0, -2)},"metadata":${texts?.metadata ?? 'null'}}}`
}

/** @returns the JSON text of a `webhook.test`: the shape of a receive without values */
export const buildTestBody = (eventId: string, environment: { readonly id: string; readonly type: EnvironmentType }): string =>
  JSON.stringify({
    id: envelopeIdOf(TEST_EVENT_TYPE, eventId),
    event_type: TEST_EVENT_TYPE,
    environment: environment.type.toLowerCase(),
    environment_id: environment.id,
    wallet_id: null,
    node_id: null,
    data: {
      id: eventId,
      direction: 'receive',
      status: 'test',
      payment_details: { payment_type: 'bolt11', payment_request: null, payment_hash: null },
      amount: null,
      fee: null,
      settle_amount: null,
      exchange_rate: null,
      description: null,
      settled_at: null,
      expires_at: null,
      metadata: null,
    },
  })

function toAmount(units: bigint, assetId: string) {
  const asset = findAsset(assetId)
  return asset && { amount: `${units}`, asset_id: asset.id, asset_symbol: asset.symbol, precision: asset.precision }
}
