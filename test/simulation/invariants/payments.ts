import type { ReceiveFact } from '@penstock/contracts/payments/receive.ts'
import type { SendFact } from '@penstock/contracts/payments/send.ts'
import type { SandboxBehavior } from '@penstock/contracts/payments/shapes.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { CreatedTransaction, WalletBalance } from '../../support/payments-client.ts'

type Direction = 'receive' | 'send'
/** An answer to a call that creates a transaction, as its caller received it. */
export type TransactionAnswer = CreatedTransaction & { readonly direction: Direction; readonly idempotencyKey: string }

type Transaction = {
  readonly id: string
  readonly direction: Direction
  readonly walletId: string
  readonly amount: bigint
  readonly behavior: SandboxBehavior
  readonly outcomeAt: number | null
  expiresAt: number
  paymentHash: string
  /** The time at which the transaction began to wait for its payment. */
  pendingSince: number
  readonly ends: { readonly type: EndType; readonly at: number; readonly ofSendId?: string }[]
}
type EndType = 'completed' | 'failed' | 'expired' | 'duplicate'

/** The clocks of two processes differ by at most 3 s. */
const MAX_SKEW_MS = 3000
/** After the workload, a process may be frozen for 40 s, and retries may take some more seconds. */
const MAX_DELAY_MS = 60_000

/** Folds the facts of transactions, without the code of the services and their read models. */
export function listTransactions(events: readonly Event[]): readonly Transaction[] {
  const transactions = new Map<string, Transaction>()
  for (const { category, aggregateId: id, fact, at } of events) {
    if (category !== 'receive' && category !== 'send') continue
    const { type, data } = fact as ReceiveFact | SendFact // The category determines the type.
    if (type === 'ReceiveRequested' || type === 'SendRequested') {
      const { walletId, amount, behavior, outcomeAt } = data
      const paymentHash = 'paymentHash' in data ? data.paymentHash : ''
      const request = { id, direction: category, walletId, amount: BigInt(amount), behavior, outcomeAt } as const
      transactions.set(id, { ...request, expiresAt: 0, paymentHash, pendingSince: at, ends: [] })
      continue
    }
    const transaction = transactions.get(id)
    if (!transaction) continue
    if (type === 'InvoiceIssued' || type === 'InvoiceResolved') transaction.expiresAt = data.expiresAt
    if (type === 'InvoiceResolved') transaction.paymentHash = data.paymentHash
    if (type === 'HashClaimed') transaction.pendingSince = at
    if (type === 'HashTaken') transaction.ends.push({ type: 'duplicate', at, ofSendId: data.ofSendId })
    if (type === 'ReceiveCompleted' || type === 'SendCompleted') transaction.ends.push({ type: 'completed', at })
    if (type === 'ReceiveFailed' || type === 'SendFailed') transaction.ends.push({ type: 'failed', at })
    if (type === 'ReceiveExpired' || type === 'SendExpired') transaction.ends.push({ type: 'expired', at })
  }
  return [...transactions.values()]
}

/** @param keys the number of idempotency keys of each direction, each with one set of inputs @returns a sentence for each violation */
export function checkTransactions(
  transactions: readonly Transaction[],
  answers: readonly TransactionAnswer[],
  { keys, workloadMs }: { readonly keys: Readonly<Record<Direction, number>>; readonly workloadMs: number },
): readonly string[] {
  return [
    ...transactions.flatMap((transaction) => checkEnd(transaction, transactions, workloadMs + MAX_DELAY_MS)),
    ...checkPaidOnce(transactions),
    ...checkAnswers(transactions, answers),
    ...(['receive', 'send'] as const).flatMap((direction) => {
      const count = transactions.filter((transaction) => transaction.direction === direction).length
      return count > keys[direction] ? [`${keys[direction]} keys made ${count} transactions of direction ${direction}`] : []
    }),
  ]
}

const BEHAVIOR_ENDS = { complete: 'completed', fail: 'failed', expire: 'expired' } as const

function checkEnd(transaction: Transaction, all: readonly Transaction[], maxDelayMs: number): readonly string[] {
  const { id, direction, walletId, behavior, outcomeAt, expiresAt, paymentHash, pendingSince, ends } = transaction
  const name = `${direction} ${id}`
  const [end] = ends
  if (!end) return [`${name} has not ended`]
  if (ends.length > 1) return [`${name} ended ${ends.length} times`]
  if (end.type === 'duplicate') {
    const owner = all.find((other) => other.direction === 'send' && other.id === end.ofSendId)
    const isOwner = owner?.walletId === walletId && owner.paymentHash === paymentHash && owner.ends[0]?.type !== 'duplicate'
    return isOwner && owner.id !== id ? [] : [`${name} names ${end.ofSendId} as the send of its payment hash`]
  }
  const expected = outcomeAt === null ? 'expired' : BEHAVIOR_ENDS[behavior]
  const dueAt = Math.min(outcomeAt ?? expiresAt, expiresAt)
  return [
    ...(end.type === expected ? [] : [`${name} ended as ${end.type}, and its caller chose ${expected}`]),
    ...(end.at < dueAt - MAX_SKEW_MS ? [`${name} ended ${dueAt - end.at} ms before its time`] : []),
    ...(end.at > Math.max(dueAt, pendingSince) + maxDelayMs ? [`${name} ended ${end.at - dueAt} ms after its time`] : []),
  ]
}

function checkPaidOnce(transactions: readonly Transaction[]): readonly string[] {
  const paid = new Set<string>()
  return transactions.flatMap(({ id, direction, walletId, paymentHash, ends }) => {
    if (direction !== 'send' || ends[0]?.type !== 'completed') return []
    const claim = `${walletId}:${paymentHash}`
    if (paid.has(claim)) return [`send ${id} paid the hash ${paymentHash} a second time`]
    paid.add(claim)
    return []
  })
}

/** All answers to calls with one key show the same recorded transaction. */
function checkAnswers(transactions: readonly Transaction[], answers: readonly TransactionAnswer[]): readonly string[] {
  const firstAnswers = new Map<string, TransactionAnswer>()
  return answers.flatMap((answer) => {
    const { direction, idempotencyKey, id, payment_request, payment_hash } = answer
    const name = `${direction} with the key "${idempotencyKey}"`
    const first = firstAnswers.get(name) ?? answer
    firstAnswers.set(name, first)
    if (id !== first.id || payment_request !== first.payment_request)
      return [`calls of a ${name} were answered with the transactions ${first.id} and ${id}`]
    const recorded = transactions.find((transaction) => transaction.direction === direction && transaction.id === id)
    if (recorded?.paymentHash !== payment_hash)
      return [`a ${name} was answered with ${id}, and the facts have another payment hash`]
    return []
  })
}

/** Compares the balance that a wallet shows with the completed transactions. A sandbox has no fees. */
export function checkBalance(transactions: readonly Transaction[], walletId: string, shown: WalletBalance): readonly string[] {
  const sum = (direction: Direction): bigint =>
    transactions
      .filter((one) => one.walletId === walletId && one.direction === direction && one.ends[0]?.type === 'completed')
      .reduce((total, { amount }) => total + amount, 0n)
  const [received, sent] = [sum('receive'), sum('send')]
  const expected: WalletBalance = { balance: `${received - sent}`, received: `${received}`, sent: `${sent}` }
  const isEqual = shown.balance === expected.balance && shown.received === expected.received && shown.sent === expected.sent
  return isEqual
    ? []
    : [`wallet ${walletId} shows ${JSON.stringify(shown)}, and its transactions give ${JSON.stringify(expected)}`]
}
