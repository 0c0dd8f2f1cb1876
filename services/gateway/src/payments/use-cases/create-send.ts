import { command } from '@penstock/kernel/process.ts'
import type { SendTarget as SendCommandTarget } from '@penstock/contracts/payments/send.ts'
import { invalidInput } from '../../errors.ts'
import type { TransactionMutationsCreateSendArgs } from '../../generated/schema-types.ts'
import { parseId } from '../../input.ts'
import type { Gateway } from '../../ports.ts'
import { mutation } from '../../use-case.ts'
import { permitted } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import { parseExpirySeconds, parseIdempotencyKey, parseMetadata } from '../input.ts'
import { requireWallet, type WalletRow } from '../read/wallets.ts'
import { toTransactionRecord } from '../records/transaction-record.ts'
import { createSandboxInvoice } from '../sandbox-invoice.ts'
import { chooseIdempotencyKey, deriveTransactionId, findReplay, hashInput, requestTransaction } from './request-transaction.ts'
import { parseSendTarget, type SendTarget } from './send-target.ts'
import { toWalletReference } from './wallet-reference.ts'

const parseSend = ({ input }: TransactionMutationsCreateSendArgs) => ({
  walletId: parseId(input.wallet_id),
  target: parseSendTarget(input),
  idempotencyKey: typeof input.idempotency_key === 'string' ? parseIdempotencyKey(input.idempotency_key) : undefined,
  metadata: parseMetadata(input.metadata),
})

/** Records a payment of a sandbox, and waits until its payment hash is claimed. */
export const createSend = mutation({
  path: 'payment.transaction.create_send',
  limit: paymentsLimit,
  access: permitted('PAYMENTS', 'WRITE'),
  input: parseSend,
  run: async (input, { gateway, caller, extensions }) => {
    const { target, metadata } = input
    const wallet = await requireWallet(gateway.views, caller, input.walletId)
    const idempotencyKey = chooseIdempotencyKey(gateway, input.idempotencyKey)
    const id = deriveTransactionId('send', wallet.id, idempotencyKey)
    const payee = target.kind === 'invoice' ? target.request.toLowerCase() : target.address.toLowerCase()
    const fingerprint = hashInput(gateway, [target.kind, payee, `${target.amount}`, metadata.text])
    // No earlier request can have a random key.
    const replay = input.idempotencyKey === undefined ? undefined : await findReplay(gateway, { id, fingerprint, extensions })
    const found = replay ?? (await requestSend(gateway, wallet, { id, fingerprint, idempotencyKey }, input))
    return toTransactionRecord(gateway, found)
  },
})

type Identity = { readonly id: string; readonly fingerprint: string; readonly idempotencyKey: string }

function requestSend(
  gateway: Gateway,
  wallet: WalletRow,
  { id, fingerprint, idempotencyKey }: Identity,
  { target, metadata }: ReturnType<typeof parseSend>,
) {
  const { request, description, invoice } = resolveInvoice(gateway, id, target)
  return requestTransaction(gateway, {
    id,
    texts: {
      description,
      metadata: metadata.text,
      idempotencyKey,
      invoice: request,
      ...(target.kind === 'address' && { address: target.address }),
    },
    createCommand: (textRecord) =>
      command<SendCommandTarget>('send', id, {
        type: 'RequestSend',
        data: {
          ...toWalletReference(wallet),
          target: target.kind,
          amount: `${target.amount}`,
          textRecord,
          fingerprint,
          invoice: { ...invoice, amountMsat: `${target.amountMsat}` },
          behavior: metadata.behavior,
        },
      }),
  })
}

/** Returns the invoice of a send. The sandbox makes the invoice of an address itself, and does not look the address up. */
function resolveInvoice({ pepper, clock }: Pick<Gateway, 'pepper' | 'clock'>, id: string, target: SendTarget) {
  const now = clock.now()
  if (target.kind === 'invoice') {
    const { paymentHash, payee, expiresAt, description } = target.decoded
    if (expiresAt <= now) throw invalidInput('The invoice has expired. Ask the payee for a new one.')
    return { request: target.request, description: description || null, invoice: { paymentHash, payee, expiresAt } }
  }
  const expirySeconds = parseExpirySeconds(undefined)
  const made = createSandboxInvoice(pepper, {
    transactionId: id,
    amountMsat: target.amountMsat,
    description: '',
    expirySeconds,
    now,
  })
  const { request, paymentHash, payee, expiresAt } = made
  return { request, description: null, invoice: { paymentHash, payee, expiresAt } }
}
