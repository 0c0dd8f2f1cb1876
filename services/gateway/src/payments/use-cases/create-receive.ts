import { command } from '@penstock/kernel/process.ts'
import { satToMsat } from '@penstock/kernel/money.ts'
import type { ReceiveTarget } from '@penstock/contracts/payments/receive.ts'
import type { TransactionMutationsCreateReceiveArgs } from '../../generated/schema-types.ts'
import { parseId } from '../../input.ts'
import type { Gateway } from '../../ports.ts'
import { mutation } from '../../use-case.ts'
import { permitted } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import {
  parseBaseUnits,
  parseDescription,
  parseExpirySeconds,
  parseHashField,
  parseIdempotencyKey,
  parseMetadata,
} from '../input.ts'
import { requireWallet, type WalletRow } from '../read/wallets.ts'
import { toTransactionRecord } from '../records/transaction-record.ts'
import { createSandboxInvoice } from '../sandbox-invoice.ts'
import { chooseIdempotencyKey, deriveTransactionId, findReplay, hashInput, requestTransaction } from './request-transaction.ts'
import { toWalletReference } from './wallet-reference.ts'

function parseReceive({ input }: TransactionMutationsCreateReceiveArgs) {
  const descriptionHash = input.bolt11?.description_hash
  return {
    walletId: parseId(input.wallet_id),
    amount: parseBaseUnits(input.amount),
    description: typeof input.description === 'string' ? parseDescription(input.description) : null,
    descriptionHash: typeof descriptionHash === 'string' ? parseHashField(descriptionHash, 'bolt11.description_hash') : undefined,
    expirySeconds: parseExpirySeconds(input.expires_in_seconds),
    idempotencyKey: typeof input.idempotency_key === 'string' ? parseIdempotencyKey(input.idempotency_key) : undefined,
    metadata: parseMetadata(input.metadata),
  }
}
type ReceiveInput = ReturnType<typeof parseReceive>

/** Makes an invoice of a sandbox. */
export const createReceive = mutation({
  path: 'payment.transaction.create_receive',
  limit: paymentsLimit,
  access: permitted('PAYMENTS', 'WRITE'),
  input: parseReceive,
  run: async (input, { gateway, caller, extensions }) => {
    const wallet = await requireWallet(gateway.views, caller, input.walletId)
    const idempotencyKey = chooseIdempotencyKey(gateway, input.idempotencyKey)
    const id = deriveTransactionId('receive', wallet.id, idempotencyKey)
    const { amount, description, descriptionHash, expirySeconds, metadata } = input
    const fingerprint = hashInput(gateway, [`${amount}`, description, descriptionHash, expirySeconds, metadata.text])
    // No earlier request can have a random key.
    const replay = input.idempotencyKey === undefined ? undefined : await findReplay(gateway, { id, fingerprint, extensions })
    const found = replay ?? (await requestReceive(gateway, wallet, { id, fingerprint, idempotencyKey }, input))
    return toTransactionRecord(gateway, found)
  },
})

type Identity = { readonly id: string; readonly fingerprint: string; readonly idempotencyKey: string }

function requestReceive(
  gateway: Gateway,
  wallet: WalletRow,
  { id, fingerprint, idempotencyKey }: Identity,
  { amount, description, descriptionHash, expirySeconds, metadata }: ReceiveInput,
) {
  // BTC is the only asset of a sandbox, and its base unit is the satoshi.
  const amountMsat = satToMsat(amount)
  const { request, paymentHash, issuedAt, expiresAt } = createSandboxInvoice(gateway.pepper, {
    transactionId: id,
    amountMsat,
    description: description ?? '',
    descriptionHash,
    expirySeconds,
    now: gateway.clock.now(),
  })
  return requestTransaction(gateway, {
    id,
    texts: { description, metadata: metadata.text, idempotencyKey, invoice: request },
    createCommand: (textRecord) =>
      command<ReceiveTarget>('receive', id, {
        type: 'RequestReceive',
        data: {
          ...toWalletReference(wallet),
          amount: `${amount}`,
          amountMsat: `${amountMsat}`,
          textRecord,
          fingerprint,
          paymentHash,
          issuedAt,
          expiresAt,
          behavior: metadata.behavior,
        },
      }),
  })
}
