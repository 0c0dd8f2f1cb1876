import { btcAsset } from '@penstock/contracts/payments/assets.ts'
import type { TransactionView } from '@penstock/contracts/payments/transaction-view.ts'
import type { PaymentsTables } from '@penstock/gateway/payments/views/tables.ts'
import { SECOND_MS } from '@penstock/kernel/time.ts'
import { createHash } from 'node:crypto'
import type { InsertRows } from '../bench-gateway.ts'

const WALLETS = 10
const BEGAN_AT = Date.parse('2026-01-01T00:00:00Z')
const RATE = { centsPerBtc: '10000000', at: BEGAN_AT }
const AMOUNT = '1000'
/** As long as an invoice of a sandbox. */
const INVOICE = `lnbcrt${'x'.repeat(330)}`

export const SANDBOX = {
  teamId: '70000000-0000-4000-8000-000000000001',
  environmentId: '70000000-0000-4000-8000-000000000002',
}
const walletIds = Array.from({ length: WALLETS }, (_, n) => deriveId('wallet', n))

/** Inserts a team's account and its sandbox without wallets. */
export function insertTeam(insert: InsertRows): void {
  insert('views', 'gateway_accounts', [
    { id: SANDBOX.teamId, email_hash: hash('email', 0), email_record: '', password_record: '', created_at: BEGAN_AT },
  ])
  insert('views', 'gateway_environments', [
    { id: SANDBOX.environmentId, team_id: SANDBOX.teamId, type: 'SANDBOX', name_record: '', deleted: 0, created_at: BEGAN_AT },
  ])
}

/** Inserts a sandbox with this number of completed receives, one a second, in ten wallets. */
export function insertSandbox(insert: InsertRows, transactions: number): void {
  insertTeam(insert)
  insert('views', 'gateway_wallets', walletIds.map(createWallet))
  insert(
    'views',
    'gateway_wallet_totals',
    walletIds.map((id) => createTotals(id, transactions / WALLETS)),
  )
  insert('views', 'gateway_transactions', generate(transactions, createTransaction))
  insert('views', 'gateway_transaction_facts', generate(FACTS.length * transactions, createTransactionFact))
  insert('records', 'records', generate(transactions, createTextRecord))
}

function* generate<T>(count: number, create: (n: number) => T): Generator<T> {
  for (let n = 0; n < count; n++) yield create(n)
}

/** Derives an id. Derived ids are spread over an index like those of a market. */
function deriveId(kind: string, n: number): string {
  const hex = hash(kind, n)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
function hash(kind: string, n: number): string {
  return createHash('sha256').update(`${kind} ${n}`).digest('hex')
}

const createWallet = (id: string): PaymentsTables['gateway_wallets'] => ({
  id,
  environment_id: SANDBOX.environmentId,
  team_id: SANDBOX.teamId,
  asset_id: btcAsset.id,
  name_record: null,
  deleted: 0,
  created_at: BEGAN_AT,
})

const createTotals = (walletId: string, completed: number): PaymentsTables['gateway_wallet_totals'] => ({
  wallet_id: walletId,
  received: `${completed * Number(AMOUNT)}`,
  sent: '0',
  fees: '0',
  receive_pending: 0,
  receive_completed: completed,
  receive_failed: 0,
  receive_expired: 0,
  send_pending: 0,
  send_completed: 0,
  send_failed: 0,
  send_expired: 0,
})

function createTransaction(n: number): PaymentsTables['gateway_transactions'] {
  const createdAt = BEGAN_AT + n * SECOND_MS
  const paymentHash = hash('payment', n)
  const walletId = walletIds[n % WALLETS] ?? ''
  const [amount, amountMsat] = [AMOUNT, `${AMOUNT}000`]
  const view: TransactionView = {
    direction: 'RECEIVE',
    walletId,
    ...SANDBOX,
    assetId: btcAsset.id,
    amount,
    amountMsat,
    textRecord: deriveId('text', n),
    fingerprint: hash('input', n),
    rate: RATE,
    paymentHash,
    expiresAt: createdAt + 3600 * SECOND_MS,
    outcomeAt: createdAt + SECOND_MS,
    isClaiming: false,
    duplicateOf: null,
    settlement: { amount, amountMsat, feeMsat: null, at: createdAt + SECOND_MS, rate: RATE },
    failure: null,
    createdAt,
    updatedAt: createdAt + SECOND_MS,
  }
  return {
    id: deriveId('transaction', n),
    wallet_id: walletId,
    environment_id: SANDBOX.environmentId,
    team_id: SANDBOX.teamId,
    direction: view.direction,
    status: 'COMPLETED',
    payment_hash: paymentHash,
    created_at: createdAt,
    ends_at: createdAt + SECOND_MS,
    view: JSON.stringify(view),
  }
}

const FACTS = ['ReceiveRequested', 'InvoiceIssued', 'ReceiveCompleted'] as const

/** Creates the facts of each transaction one after the other. */
function createTransactionFact(n: number): PaymentsTables['gateway_transaction_facts'] {
  const [transaction, revision] = [Math.floor(n / FACTS.length), n % FACTS.length]
  return {
    id: deriveId('fact', n),
    transaction_id: deriveId('transaction', transaction),
    revision,
    type: FACTS[revision] ?? '',
    reason: null,
    at: BEGAN_AT + (transaction + Number(revision === 2)) * SECOND_MS,
  }
}

const createTextRecord = (n: number) => ({
  id: deriveId('text', n),
  kind: 'payment-text',
  json: JSON.stringify({
    description: `order ${n}`,
    metadata: `{"order":${n}}`,
    idempotencyKey: `order-${n}`,
    invoice: INVOICE,
  }),
  at: BEGAN_AT + n * SECOND_MS,
})
