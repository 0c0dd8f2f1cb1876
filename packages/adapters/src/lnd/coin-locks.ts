import { randomBytes } from 'node:crypto'
import { getChannels, type GetChannelsResult, getLockedUtxos, getPendingChannels, lockUtxo, unlockUtxo } from 'lightning'
import { slots } from '../shared/slots.ts'
import type { Connection } from './connection.ts'

/** A coin of the wallet, and the name under which it is locked. */
type Lock = { readonly id: string; readonly transaction_id: string; readonly transaction_vout: number }

/** How long coins stay locked for a funding that is not published: lnd's own ten minutes would hand them out again. */
const LOCK_MS = 30 * 24 * 3_600_000
/** Begins the names of our locks ("penstock"), among those of other programs on the same node. */
const TAG = '70656e73746f636b'
const NOTE = 'penstock '
const RANDOM_BYTES = 24

/** What the openings of one node have in common. */
export type Openings = {
  /** The locks of those under way. */
  readonly inHand: Set<string>
  /** One at a time deals with coins and signatures. */
  readonly turn: ReturnType<typeof slots>
}

export const openingsOf = (): Openings => ({ inHand: new Set(), turn: slots(1) })

/** Every opening has a name of its own for its locks, from before the first of them on. */
export const newLockName = (): string => TAG + randomBytes(RANDOM_BYTES).toString('hex')

/** What lnd writes beside the channel, for us alone: whose coins are whose is known after any crash. */
export const noteOf = (name: string): string => `${NOTE}${name.slice(TAG.length)}`
/** The package gives the description of open channels too, and its types have forgotten it. */
export type OpenChannel = GetChannelsResult['channels'][number] & { readonly description?: string }
/** Whether it is a channel of ours, by its note. */
export const isNoted = (channel: { readonly description?: string }): boolean => channel.description?.startsWith(NOTE) ?? false

/** Fundings that were prepared before there were notes have their locks by this name, of the same length. */
const nameBeforeNotes = (txid: string): string => (TAG + txid).slice(0, TAG.length + 2 * RANDOM_BYTES)

/** Makes the locks of an opening last. */
export async function keepCoins({ ask, clock }: Connection, locks: readonly Lock[]): Promise<void> {
  const expires_at = new Date(clock.now() + LOCK_MS).toISOString()
  for (const lock of locks) {
    // The package takes an end, and its types have forgotten it.
    const untilThen = { ...lock, expires_at }
    await ask((lnd) => lockUtxo({ lnd, ...untilThen }))
  }
}

/** All that can be freed. @throws what stood in the way of the first that cannot */
export async function freeCoins({ ask }: Connection, locks: readonly Lock[]): Promise<void> {
  const failures: unknown[] = []
  for (const lock of locks) await ask((lnd) => unlockUtxo({ lnd, ...lock })).catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw failures[0]
}

export const locksNamed = async (node: Connection, name: string): Promise<readonly Lock[]> =>
  (await ourLocks(node)).filter(({ id }) => id === name)

/** Frees what belongs to no channel and to no opening under way here: what was given up, or cut off by any crash. */
export async function freeForgotten(node: Connection, { inHand }: Openings): Promise<void> {
  const locks = (await ourLocks(node)).filter(({ id }) => !inHand.has(id))
  if (locks.length === 0) return
  // After the locks: an opening that has ended in between has its channel by now.
  const channels = await listed(node)
  const notes = new Set(channels.map(({ description }) => description))
  const before = new Set(channels.map(({ transaction_id }) => nameBeforeNotes(transaction_id)))
  await freeCoins(
    node,
    locks.filter(({ id }) => !notes.has(noteOf(id)) && !before.has(id)),
  )
}

type Listed = { readonly transaction_id: string; readonly description?: string }

async function listed({ ask }: Connection): Promise<readonly Listed[]> {
  // The pending ones first: one that opens in between is then listed twice rather than not at all.
  const { pending_channels } = await ask((lnd) => getPendingChannels({ lnd }))
  const { channels } = await ask((lnd) => getChannels({ lnd }))
  const open: readonly OpenChannel[] = channels
  return [...pending_channels, ...open]
}

async function ourLocks({ ask }: Connection): Promise<readonly Lock[]> {
  const { utxos } = await ask((lnd) => getLockedUtxos({ lnd }))
  return utxos
    .filter(({ lock_id }) => lock_id.startsWith(TAG))
    .map(({ lock_id: id, transaction_id, transaction_vout }) => ({ id, transaction_id, transaction_vout }))
}
