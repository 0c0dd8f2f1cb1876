import { createMutants } from '../mutant.ts'

const src = 'services/payments/src'
const gateway = 'services/gateway/src/payments'
const useCases = `${gateway}/use-cases`

export const paymentsMutants = createMutants('payments', [
  {
    id: 'idempotency-key-without-effect',
    description: 'The id of a transaction does not come from its key: a caller that repeats its request gets a second invoice.',
    file: `${useCases}/create-receive.ts`,
    text: `deriveTransactionId('receive', wallet.id, idempotencyKey)`,
    replacement: 'gateway.ids.uuid()',
    killers: [`${useCases}/receive.test.ts`],
  },
  {
    id: 'idempotency-key-of-all-wallets',
    description: 'A key counts for all wallets: the second wallet gets the invoice of the first one, which receives its money.',
    file: `${useCases}/request-transaction.ts`,
    text: 'deriveId(walletId, direction, ',
    replacement: `deriveId('', direction, `,
    killers: [`${useCases}/receive.test.ts`],
  },
  {
    id: 'mismatch-unmarked',
    description:
      'A repeated key with another input is not marked: the caller believes that the invoice has the amount of its input.',
    file: `${useCases}/request-transaction.ts`,
    text: `if (found.view.fingerprint !== fingerprint) extensions['idempotency_mismatch'] = true`,
    replacement: '',
    killers: [`${useCases}/receive.test.ts`],
  },
  {
    id: 'replay-shows-the-duplicate',
    description:
      'A repeated request shows a send that another send stands for: its caller never learns that the invoice is paid.',
    file: `${useCases}/request-transaction.ts`,
    text: 'const shown = found.view.isClaiming ? undefined : await resolveDuplicate(views, found)',
    replacement: 'const shown = found.view.isClaiming ? undefined : found',
    killers: [`${useCases}/send.test.ts`],
  },
  {
    id: 'final-status-changes',
    description: 'The expiry of a send takes effect after its outcome: a paid send becomes EXPIRED, and its caller pays again.',
    file: `${src}/send.decide.ts`,
    text: `function recordExpiryReached(send: Send, command: CommandOf<'RecordExpiryReached'>): SendDecision {
  if (send.status !== 'PENDING' || !isNextEnd(send, command)) return accept()`,
    replacement: `function recordExpiryReached(send: Send, command: CommandOf<'RecordExpiryReached'>): SendDecision {
  if (send.status === 'NONE') return accept()`,
    killers: [`${src}/properties.test.ts`],
  },
  {
    id: 'outcome-after-the-expiry',
    description: 'An outcome that is due after the expiry takes effect after it: an expired invoice counts as paid.',
    file: `${src}/sandbox.ts`,
    text: 'at: Math.min(outcomeAt, expiresAt)',
    replacement: 'at: outcomeAt',
    killers: [`${src}/receive.test.ts`],
  },
  {
    id: 'stale-end-obeyed',
    description: 'A command that names another deadline ends a transaction: an open invoice ends too early.',
    file: `${src}/sandbox.ts`,
    text: 'data.expiresAt === expiresAt',
    replacement: 'data.expiresAt > 0',
    killers: [`${src}/receive.test.ts`],
  },
  {
    id: 'request-for-a-deleted-wallet',
    description: 'A deleted wallet still takes requests: money goes to a wallet that its team no longer sees.',
    file: `${src}/receive.decide.ts`,
    text: '  if (isDeleted) return walletNotFound\n',
    replacement: '',
  },
  {
    id: 'hash-claimed-twice',
    description: 'A payment hash is granted to a second send: the wallet pays one invoice twice.',
    file: `${src}/send-claim.ts`,
    text: 'if (owner === null) return accept',
    replacement: `if (owner !== '') return accept`,
  },
  {
    id: 'hash-released-by-another-send',
    description: 'A send gives back the payment hash of another send: a third send pays the invoice again.',
    file: `${src}/send-claim.ts`,
    text: `owner === sendId ? accept({ type: 'HashReleased'`,
    replacement: `owner !== null ? accept({ type: 'HashReleased'`,
  },
  {
    id: 'wallet-key-sees-all-wallets',
    description: 'A key for one wallet works for all wallets of its environment: a stolen till key spends from all of them.',
    file: `${gateway}/access.ts`,
    text: '(caller.key === null || caller.key.walletId === null || caller.key.walletId === wallet.id)',
    replacement: '(caller.key === null || caller.key.walletId !== undefined)',
  },
  {
    id: 'created-environment-opened',
    description: 'A key works in every environment that it created: its permissions reach beyond its own environment.',
    file: `${gateway}/read/environments.ts`,
    text: '!seesContent(caller, environment)',
    replacement: '!seesEnvironment(caller, environment)',
    killers: [`${useCases}/environments.test.ts`],
  },
  {
    id: 'revoked-service-key-opens',
    description: 'A revoked service API key is not marked: a stolen key still makes payments.',
    file: `${gateway}/keys/projection.ts`,
    text: 'set({ revoked: 1 })',
    replacement: 'set({ revoked: 0 })',
    killers: [`${gateway}/keys/service-keys.test.ts`],
  },
  {
    id: 'fee-left-out-of-the-balance',
    description: 'The balance lacks the fees of sends: the wallet shows more money than it has.',
    file: `${gateway}/views/wallet-totals.ts`,
    text: 'fees: `${BigInt(fees) + fee}`',
    replacement: 'fees: `${BigInt(fees)}`',
    killers: [`${useCases}/transactions.test.ts`],
  },
  {
    id: 'receipt-rounded-up',
    description: 'A receipt is rounded up like a payment: the balance shows satoshis that never arrived.',
    file: 'packages/contracts/src/payments/settled-units.ts',
    text: `direction === 'RECEIVE' ? amountMsat : `,
    replacement: `direction === null ? amountMsat : `,
  },
  {
    id: 'texts-of-open-transactions-erased',
    description: 'An erasure deletes the texts of open transactions: the invoice of a pending payment is lost.',
    file: `${gateway}/erase.ts`,
    text: `when status = 'PENDING' then 0 else 1`,
    replacement: `when status = 'PENDING' then 1 else 1`,
  },
])
