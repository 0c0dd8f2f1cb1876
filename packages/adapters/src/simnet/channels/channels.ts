import { formatShortChannelId } from '@penstock/bitcoin/outpoint.ts'
import { walletScript } from '@penstock/bitcoin/script.ts'
import type { Transaction } from '@penstock/bitcoin/transaction.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { OwnChannel } from '@penstock/ports/lightning.ts'
import { acceptTransaction } from '../chain.ts'
import type { SimnetStore } from '../store.ts'

/** Confirmations after which a public channel is announced. */
export const ANNOUNCED_AT_DEPTH = 6
/** Blocks that a node requires between the expiries of an incoming HTLC and its outgoing one. */
export const FORWARDING_CLTV_DELTA = 80
/** The channel size divided by this is the reserve of each side (BOLT 2). The reserve makes cheating expensive. */
const RESERVE_DIVISOR = 100n
/** Virtual bytes of a close that pays both nodes: with a 2-of-2 script and two signatures, or with one aggregated key. */
const [CLOSE_VBYTES, TAPROOT_CLOSE_VBYTES] = [168, 129]
/** HTLCs that a channel can carry at a time (BOLT 2). */
const MAX_HTLC_SLOTS = 483n

export type SimChannelRow = {
  readonly outpoint: string
  readonly txid: string
  readonly vout: bigint
  readonly a: string
  readonly b: string
  readonly capacity_sat: bigint
  readonly is_private: bigint
  readonly is_taproot: bigint
  readonly raw: string
  readonly fee_sat: bigint
  readonly vsize: bigint
  readonly state: 'prepared' | 'vanished' | 'published' | 'abandoned'
  readonly pending_until: bigint | null
  readonly a_key: string
  readonly b_key: string
  readonly a_msat: bigint
  readonly b_msat: bigint
  readonly held_msat: bigint
  readonly slots: bigint
  readonly a_base_msat: bigint
  readonly a_ppm: bigint
  readonly b_base_msat: bigint
  readonly b_ppm: bigint
  readonly claimed_peer: string
  readonly claimed_sat: bigint
  readonly funding_height: bigint | null
  readonly funding_index: bigint | null
  readonly used_height: bigint | null
  readonly used_index: bigint | null
  readonly is_unlisted: bigint
  readonly is_seen: bigint
  /** Whether both nodes are online, as 0 or 1. */
  readonly is_online: bigint
  readonly is_spent: bigint
  readonly spent_height: bigint | null
}

export const findChannel = (store: SimnetStore, outpoint: string): SimChannelRow | undefined =>
  store.get<SimChannelRow>('SELECT * FROM channel_view WHERE outpoint = ?', outpoint)

/** Channels of ?1 that are not closed. The query uses partial indexes, because a node may have had thousands of channels. */
export const OPEN_CHANNELS_OF_SQL = `id IN (
  SELECT id FROM channels WHERE a = ?1 AND closed_height IS NULL UNION ALL
  SELECT id FROM channels WHERE b = ?1 AND closed_height IS NULL)`

export const findOpenChannels = (store: SimnetStore, pubkey: string): SimChannelRow[] =>
  store.all<SimChannelRow>(
    `SELECT * FROM channel_view WHERE ${OPEN_CHANNELS_OF_SQL} AND (state <> 'abandoned' OR b = ?1 AND pending_until IS NOT NULL) ORDER BY id`,
    pubkey,
  )

/** @returns confirmations of the funding; 0 while it is unconfirmed */
const confirmationsOf = (channel: SimChannelRow, height: number): number =>
  channel.funding_height === null ? 0 : height - Number(channel.funding_height) + 1

/** A used channel keeps the short channel id that it had at its activation, even if its funding moves to another block. */
export function shortChannelIdOf({ funding_height, funding_index, used_height, used_index, vout }: SimChannelRow): string | null {
  const [height, index] = used_height === null ? [funding_height, funding_index] : [used_height, used_index]
  return height === null || index === null
    ? null
    : formatShortChannelId({ height: Number(height), txIndex: Number(index), vout: Number(vout) })
}

export const otherEndOf = (channel: SimChannelRow, pubkey: string): string => (channel.a === pubkey ? channel.b : channel.a)
const balanceOf = (channel: SimChannelRow, pubkey: string): bigint => (channel.a === pubkey ? channel.a_msat : channel.b_msat)
/** @returns the msat that a node can send through the channel now */
export const sendableMsat = (channel: SimChannelRow, pubkey: string): bigint => {
  const spendableMsat = balanceOf(channel, pubkey) - (channel.capacity_sat / RESERVE_DIVISOR) * 1000n
  return spendableMsat > 0n && channel.slots < MAX_HTLC_SLOTS ? spendableMsat : 0n
}

export type ChannelState = OwnChannel['state'] | 'gone'

/**
 * The state of a channel for a viewer; `gone` means closed on chain or abandoned. The peer sees an abandoned channel as pending
 * until it forgets the channel. A channel whose funding was forgotten or double-spent stays pending for ever, because its node
 * cannot detect that. If such a channel was active before, it stays in use, as in lnd.
 */
export function channelStateOf(channel: SimChannelRow, viewer?: string): ChannelState {
  if (channel.state === 'abandoned') return channel.b === viewer && channel.pending_until !== null ? 'pending' : 'gone'
  if (channel.state !== 'published') return 'pending'
  if (channel.spent_height !== null) return 'gone'
  if (channel.is_spent === 1n) return 'closing'
  if (channel.used_height === null) return 'pending'
  return channel.is_online === 1n ? 'active' : 'inactive'
}

export const isChannelActive = (channel: SimChannelRow): boolean => channelStateOf(channel) === 'active'

/** @returns whether the viewer's graph contains the channel: an own channel once it is active, any other once it is announced */
export const isInGraphOf = (viewer: string, channel: SimChannelRow, height: number): boolean =>
  channel.is_unlisted === 0n &&
  (isAnnounced(channel, height) || ((channel.a === viewer || channel.b === viewer) && isChannelActive(channel)))

const isAnnounced = (channel: SimChannelRow, height: number): boolean =>
  channel.state === 'published' &&
  channel.is_private === 0n &&
  channel.is_spent === 0n &&
  confirmationsOf(channel, height) >= ANNOUNCED_AT_DEPTH

/**
 * Lists channels as the node reports them to its owner. If a channel differs from its order, the opener reports the order's
 * terms.
 */
export function listChannels(store: SimnetStore, pubkey: string): OwnChannel[] {
  return findOpenChannels(store, pubkey).flatMap((channel) => {
    const state = channelStateOf(channel, pubkey)
    const isOurs = channel.a === pubkey
    if (state === 'gone') return []
    const isMisreported = isOurs && channel.claimed_sat !== channel.capacity_sat
    return [
      {
        outpoint: channel.outpoint,
        shortChannelId: shortChannelIdOf(channel),
        peer: isOurs ? channel.claimed_peer : channel.a,
        capacitySat: isOurs ? channel.claimed_sat : channel.capacity_sat,
        localSat: isMisreported ? channel.claimed_sat : balanceOf(channel, pubkey) / 1000n,
        remoteSat: balanceOf(channel, otherEndOf(channel, pubkey)) / 1000n,
        isPrivate: channel.is_private === 1n,
        channelType: channel.is_taproot === 1n ? 'simplified_taproot' : 'anchor',
        isPrepared: isOurs,
        reserveSat: (isOurs ? channel.claimed_sat : channel.capacity_sat) / RESERVE_DIVISOR,
        state,
        openedByUs: isOurs,
      },
    ]
  })
}

/** The topic that notifies a node of a change in its channels. Blocks notify all nodes. */
export const channelsTopicOf = (pubkey: string): string => `channels/${pubkey}`

export function notifyEnds(store: SimnetStore, { a, b }: Pick<SimChannelRow, 'a' | 'b'>): void {
  for (const end of [a, b]) store.notify(channelsTopicOf(end))
}

type CloseOptions = {
  /** The closing node; the opener by default. */
  readonly by?: string
  readonly force: boolean
  readonly feeSat: bigint
}

/**
 * Closes a channel. The coins of each side return to its wallet, and the opener pays the fee. Both kinds of close are the same on
 * chain here, but a force close also works while the peer is offline.
 * @throws Error while the channel has pending payments
 */
export function closeChannel(store: SimnetStore, outpoint: string, { by, force, feeSat }: CloseOptions): string {
  const channel = findChannel(store, outpoint)
  if (!channel || channel.state !== 'published' || channel.is_seen === 0n || channel.is_spent === 1n)
    throw new Error(`no open channel ${outpoint}`)
  if (channel.held_msat > 0n || channel.slots > 0n) throw new Error('payments are under way in it: settle or cancel them first')
  if (!force && channel.is_online === 0n) throw new Error('the peer is offline; close the channel by force')
  const closer = by ?? channel.a
  if (closer !== channel.a && closer !== channel.b) throw new Error(`only a node of ${outpoint} can close it`)
  store.run('UPDATE channels SET closed_by = ?, is_forced = ? WHERE outpoint = ?', closer, force ? 1 : 0, outpoint)
  notifyEnds(store, channel)
  const openerSat = channel.a_msat / 1000n - feeSat
  const outputs = [
    { valueSat: openerSat > 0n ? openerSat : 0n, script: walletScriptOf(store, channel.a) },
    { valueSat: channel.b_msat / 1000n, script: walletScriptOf(store, channel.b) },
  ].filter(({ valueSat }) => valueSat > 0n)
  const transaction: Transaction = { inputs: [{ txid: channel.txid, vout: Number(channel.vout) }], outputs }
  const paidSat = channel.capacity_sat - outputs.reduce((sum, { valueSat }) => sum + valueSat, 0n)
  const vsize = channel.is_taproot === 1n ? TAPROOT_CLOSE_VBYTES : CLOSE_VBYTES
  return acceptTransaction(store, transaction, { feeSat: paidSat, vsize })
}

const CLOSE_FEE_SAT = 200n

/**
 * Closes a channel of the node: cooperatively if the peer is online, and by force otherwise.
 * @throws Fault if the channel cannot be closed now
 */
export function closeOwnChannel(store: SimnetStore, node: string, outpoint: string): void {
  const listed = listChannels(store, node).find((own) => own.outpoint === outpoint)
  const channel = findChannel(store, outpoint)
  if (!listed || !channel || listed.state === 'closing') return
  if (listed.state === 'pending') throw new Fault(`the channel ${outpoint} is not open yet`)
  if (channel.held_msat > 0n || channel.slots > 0n) throw new Fault(`payments are under way in ${outpoint}`)
  closeChannel(store, outpoint, { by: node, force: listed.state === 'inactive', feeSat: CLOSE_FEE_SAT })
}

const walletScriptOf = (store: SimnetStore, pubkey: string): string =>
  store.get<{ script: string }>('SELECT script FROM nodes WHERE pubkey = ?', pubkey)?.script ?? walletScript(pubkey)
