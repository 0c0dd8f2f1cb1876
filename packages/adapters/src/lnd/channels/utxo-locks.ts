import { randomBytes } from 'node:crypto'
import { getChannels, type GetChannelsResult, getLockedUtxos, getPendingChannels, lockUtxo, unlockUtxo } from 'lightning'
import { createSemaphore } from '@penstock/kernel/semaphore.ts'
import type { LndConnection } from '../connection.ts'

/** A coin of the wallet, and the id under which it is locked. */
type UtxoLock = { readonly id: string; readonly transaction_id: string; readonly transaction_vout: number }

/**
 * Milliseconds for which coins stay locked for an unpublished funding. After lnd's default of ten minutes they would be selected
 * again.
 */
const LOCK_MS = 30 * 24 * 3_600_000
/** Prefix of our lock ids ("penstock"), which distinguishes them from lock ids of other programs on the node. */
const LOCK_ID_PREFIX = '70656e73746f636b'
const MEMO_PREFIX = 'penstock '
const RANDOM_BYTES = 24

/** The state that all openings of one node share. */
export type OpeningTracker = {
  /** Lock ids of the openings in progress. */
  readonly activeLockIds: Set<string>
  /** Lets only one opening at a time handle coins and signatures. */
  readonly mutex: ReturnType<typeof createSemaphore>
}

export const createOpeningTracker = (): OpeningTracker => ({ activeLockIds: new Set(), mutex: createSemaphore(1) })

/** Creates a random lock id for one opening. */
export const createLockId = (): string => LOCK_ID_PREFIX + randomBytes(RANDOM_BYTES).toString('hex')

/** The private memo that lnd stores with a channel. After a crash the memo shows which locks belong to the channel. */
export const memoOf = (lockId: string): string => `${MEMO_PREFIX}${lockId.slice(LOCK_ID_PREFIX.length)}`
/** `lightning` also returns the description of open channels, which its types omit. */
export type LndOpenChannel = GetChannelsResult['channels'][number] & { readonly description?: string }
/** Whether Penstock opened the channel. The memo shows it. */
export const hasPenstockMemo = (channel: { readonly description?: string }): boolean =>
  channel.description?.startsWith(MEMO_PREFIX) ?? false

/** The lock id of a funding that an earlier release prepared without a memo; it has the same length. */
const legacyLockIdOf = (txid: string): string => (LOCK_ID_PREFIX + txid).slice(0, LOCK_ID_PREFIX.length + 2 * RANDOM_BYTES)

/** Extends the locks of an opening to LOCK_MS. */
export async function extendLocks({ ask, clock }: LndConnection, locks: readonly UtxoLock[]): Promise<void> {
  const expires_at = new Date(clock.now() + LOCK_MS).toISOString()
  for (const lock of locks) {
    // `lightning` accepts an expiry, which its types omit.
    const extended = { ...lock, expires_at }
    await ask((lnd) => lockUtxo({ lnd, ...extended }))
  }
}

/** Tries to release every lock. @throws the first error, after all tries */
export async function releaseLocks({ ask }: LndConnection, locks: readonly UtxoLock[]): Promise<void> {
  const failures: unknown[] = []
  for (const lock of locks) await ask((lnd) => unlockUtxo({ lnd, ...lock })).catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw failures[0]
}

export const findLocks = async (node: LndConnection, lockId: string): Promise<readonly UtxoLock[]> =>
  (await listPenstockLocks(node)).filter(({ id }) => id === lockId)

/**
 * Releases locks that belong to no channel and to no opening in progress here, because the opening was abandoned or a process
 * crashed.
 */
export async function releaseOrphanedLocks(node: LndConnection, { activeLockIds }: OpeningTracker): Promise<void> {
  const locks = (await listPenstockLocks(node)).filter(({ id }) => !activeLockIds.has(id))
  if (locks.length === 0) return
  // Channels are read after the locks. An opening that ends in between then already has its channel.
  const channels = await listAllChannels(node)
  const memos = new Set(channels.map(({ description }) => description))
  const legacyLockIds = new Set(channels.map(({ transaction_id }) => legacyLockIdOf(transaction_id)))
  await releaseLocks(
    node,
    locks.filter(({ id }) => !memos.has(memoOf(id)) && !legacyLockIds.has(id)),
  )
}

type ListedChannel = { readonly transaction_id: string; readonly description?: string }

async function listAllChannels({ ask }: LndConnection): Promise<readonly ListedChannel[]> {
  // Pending channels are read first, so that a channel that opens in between is listed twice rather than not at all.
  const { pending_channels } = await ask((lnd) => getPendingChannels({ lnd }))
  const { channels } = await ask((lnd) => getChannels({ lnd }))
  const open: readonly LndOpenChannel[] = channels
  return [...pending_channels, ...open]
}

async function listPenstockLocks({ ask }: LndConnection): Promise<readonly UtxoLock[]> {
  const { utxos } = await ask((lnd) => getLockedUtxos({ lnd }))
  return utxos
    .filter(({ lock_id }) => lock_id.startsWith(LOCK_ID_PREFIX))
    .map(({ lock_id: id, transaction_id, transaction_vout }) => ({ id, transaction_id, transaction_vout }))
}
