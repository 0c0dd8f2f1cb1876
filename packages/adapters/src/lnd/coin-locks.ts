import { parseOutpoint } from '@penstock/bitcoin/outpoint.ts'
import { getLockedUtxos, lockUtxo, unlockUtxo } from 'lightning'
import type { Connection } from './connection.ts'
import { ownChannels } from './own-channels.ts'

/** A coin of the wallet, and the name under which it is locked. */
export type Lock = { readonly id: string; readonly transaction_id: string; readonly transaction_vout: number }

/** How long coins stay locked for a funding that is not published: lnd's own ten minutes would hand them out again. */
const LOCK_MS = 30 * 24 * 3_600_000
/** Begins the names of our locks ("penstock"), among those of other programs on the same node. */
const TAG = '70656e73746f636b'
const NAME_LENGTH = 64

/** Every funding has a lock name of its own, so that whoever knows the outpoint alone can free its coins. */
export const lockName = (txid: string): string => (TAG + txid).slice(0, NAME_LENGTH)

/** The same coins under another name. */
export const named = (locks: readonly Lock[], id: string): readonly Lock[] => locks.map((lock) => ({ ...lock, id }))

/** Takes coins over that lnd has locked under its own name for a short time. */
export async function keepCoins({ ask, clock }: Connection, coins: readonly Lock[], name: string): Promise<void> {
  const expires_at = new Date(clock.now() + LOCK_MS).toISOString()
  for (const coin of coins) {
    // The package takes an end, and its types have forgotten it.
    const untilThen = { ...coin, id: name, expires_at }
    await ask((lnd) => unlockUtxo({ lnd, ...coin }))
    await ask((lnd) => lockUtxo({ lnd, ...untilThen }))
  }
}

/** All that can be freed. @throws what stood in the way of the first that cannot */
export async function freeCoins({ ask }: Connection, locks: readonly Lock[]): Promise<void> {
  const failures: unknown[] = []
  for (const lock of locks) await ask((lnd) => unlockUtxo({ lnd, ...lock })).catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw failures[0]
}

export async function freeCoinsOf(node: Connection, outpoint: string): Promise<void> {
  const txid = parseOutpoint(outpoint)?.txid ?? ''
  await freeCoins(
    node,
    (await ourLocks(node)).filter(({ id }) => id === lockName(txid)),
  )
}

/** Frees what an opening left locked that was cut off before there was a channel. @param inHand those under way here */
export async function freeForgotten(node: Connection, inHand: ReadonlySet<string>): Promise<void> {
  const locks = (await ourLocks(node)).filter(({ id }) => !inHand.has(id))
  if (locks.length === 0) return
  const channels = new Set((await ownChannels(node)).map(({ outpoint }) => lockName(outpoint)))
  await freeCoins(
    node,
    locks.filter(({ id }) => !channels.has(id)),
  )
}

async function ourLocks({ ask }: Connection): Promise<readonly Lock[]> {
  const { utxos } = await ask((lnd) => getLockedUtxos({ lnd }))
  return utxos
    .filter(({ lock_id }) => lock_id.startsWith(TAG))
    .map(({ lock_id: id, transaction_id, transaction_vout }) => ({ id, transaction_id, transaction_vout }))
}
