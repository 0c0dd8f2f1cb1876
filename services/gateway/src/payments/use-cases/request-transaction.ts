import { deriveId } from '@penstock/runtime/commands/derived-ids.ts'
import { hashRequest } from '@penstock/credentials/sandbox-secrets.ts'
import type { AddressedCommand } from '@penstock/kernel/process.ts'
import { createHash } from 'node:crypto'
import { getAnswerDeadline } from '../../commands/answer-deadline.ts'
import { requireInTime, sendCommand } from '../../commands/commands.ts'
import { invalidInput } from '../../errors.ts'
import type { Gateway } from '../../ports.ts'
import type { ResponseExtensions } from '../../use-case.ts'
import { findTransaction, resolveDuplicate, type StoredTransaction } from '../read/transactions.ts'
import type { TransactionTexts } from '@penstock/contracts/payments/texts.ts'
import type { RequestedTransaction } from '../records/transaction-record.ts'

/** The caller's key, or a random key that no other request has. */
export const chooseIdempotencyKey = ({ ids }: Pick<Gateway, 'ids'>, key: string | undefined): string =>
  key ?? Buffer.from(ids.random(16)).toString('hex')

/** Derives the id of a transaction, so that one key of a wallet makes one transaction in each direction. */
export const deriveTransactionId = (direction: 'receive' | 'send', walletId: string, idempotencyKey: string): string =>
  deriveId(walletId, direction, createHash('sha256').update(idempotencyKey).digest('hex'))

/** Hashes the parsed input of a request. Texts with the same hash come from the same input. */
export const hashInput = ({ pepper }: Pick<Gateway, 'pepper'>, input: object): string =>
  hashRequest(pepper, JSON.stringify(input))

const inProgress = () => invalidInput('A request with this idempotency_key is already in progress', { reason: 'IN_PROGRESS' })

type Replay = { readonly id: string; readonly fingerprint: string; readonly extensions: ResponseExtensions }

/**
 * Finds the transaction of an earlier request with the same key, and marks the response as its repetition.
 * @returns undefined if there was no such request
 * @throws an error if the earlier request is still in progress
 */
export async function findReplay(
  { views }: Pick<Gateway, 'views'>,
  { id, fingerprint, extensions }: Replay,
): Promise<StoredTransaction | undefined> {
  const found = await findTransaction(views, id)
  if (!found) return undefined
  const shown = await findAnswer(views, found)
  if (!shown) throw inProgress()
  extensions['idempotency_replayed'] = true
  if (found.view.fingerprint !== fingerprint) extensions['idempotency_mismatch'] = true
  return shown
}

/**
 * Finds the transaction that answers a request.
 * @returns undefined while it waits for the claim of its payment hash. The facts of two streams can be read in any order, so the
 * send that stands for a duplicate can still wait too.
 */
async function findAnswer(views: Gateway['views'], found: StoredTransaction): Promise<StoredTransaction | undefined> {
  const shown = found.view.isClaiming ? undefined : await resolveDuplicate(views, found)
  return shown?.view.isClaiming === true ? undefined : shown
}

type TransactionRequest = {
  readonly id: string
  readonly texts: TransactionTexts & { readonly address?: string }
  readonly createCommand: (textRecord: string) => AddressedCommand
}

/**
 * Stores the texts of a transaction, requests the transaction, and waits until its row is there. Of several requests with the
 * same key, one is recorded. Its fact names the record of its texts; the other requests delete theirs. The texts of a refused
 * or unanswered request stay, because a replica may refuse the repetition of a command that another replica accepts.
 * @throws an error if another request with the same key was recorded
 */
export async function requestTransaction(
  gateway: Gateway,
  { id, texts, createCommand }: TransactionRequest,
): Promise<RequestedTransaction> {
  const { ids, records, clock, waiters, views } = gateway
  const textRecord = ids.uuid()
  const until = getAnswerDeadline(gateway)
  await records.put(textRecord, 'payment-text', JSON.stringify(texts), clock.now())
  await sendCommand(gateway, createCommand(textRecord), { until })
  const findRequested = async (): Promise<StoredTransaction | undefined> => {
    const found = await findTransaction(views, id)
    if (!found) return undefined
    if (found.view.textRecord !== textRecord) return found
    return findAnswer(views, found)
  }
  const found = requireInTime(await waiters.wait(findRequested, [id], until))
  if (found.view.textRecord === textRecord) return { ...found, texts }
  // A duplicate is answered with another send, whose record has another id too.
  if (found.id !== id) return found
  await records.delete(textRecord)
  throw inProgress()
}
