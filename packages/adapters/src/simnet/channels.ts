import { formatShortChannelId } from '@penstock/bitcoin/outpoint.ts'
import { walletScript } from '@penstock/bitcoin/script.ts'
import type { Transaction } from '@penstock/bitcoin/transaction.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { OwnChannel } from '@penstock/ports/lightning.ts'
import { acceptTransaction } from './chain.ts'
import type { Net } from './store.ts'

/** Confirmations after which everybody hears of a public channel. */
export const DEPTH_ANNOUNCED = 6
/** Blocks that a node wants between an HTLC that comes in and the one that goes out for it. */
export const HOP_DELTA = 80
/** What each side keeps in a channel is its size through this (BOLT 2): it makes cheating dear. */
const RESERVE_SHARE = 100n
/** Virtual bytes of a close that pays both: with the script of two keys and two signatures, or with the one of both together. */
const [CLOSE_VBYTES, TAPROOT_CLOSE_VBYTES] = [168, 129]
/** HTLCs that a channel can carry at a time (BOLT 2). */
const MAX_SLOTS = 483n

export type Channel = {
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
  /** Both ends are online. */
  readonly is_online: bigint
  readonly is_spent: bigint
  readonly spent_height: bigint | null
}

export const findChannel = (net: Net, outpoint: string): Channel | undefined =>
  net.get<Channel>('SELECT * FROM channel_view WHERE outpoint = ?', outpoint)

/** Channels of ?1 that are not closed: by the indexes of just these, since a node may have had thousands. */
export const OPEN_OF = `id IN (
  SELECT id FROM channels WHERE a = ?1 AND closed_height IS NULL UNION ALL
  SELECT id FROM channels WHERE b = ?1 AND closed_height IS NULL)`

export const channelsOf = (net: Net, pubkey: string): Channel[] =>
  net.all<Channel>(
    `SELECT * FROM channel_view WHERE ${OPEN_OF} AND (state <> 'abandoned' OR b = ?1 AND pending_until IS NOT NULL) ORDER BY id`,
    pubkey,
  )

/** @returns confirmations of the funding; 0 while it is unconfirmed */
const depthOf = (channel: Channel, height: number): number =>
  channel.funding_height === null ? 0 : height - Number(channel.funding_height) + 1

/** Once in use a channel keeps the one that it had then, wherever its funding is. */
export function shortIdOf({ funding_height, funding_index, used_height, used_index, vout }: Channel): string | null {
  const [height, index] = used_height === null ? [funding_height, funding_index] : [used_height, used_index]
  return height === null || index === null
    ? null
    : formatShortChannelId({ height: Number(height), txIndex: Number(index), vout: Number(vout) })
}

export const otherEnd = (channel: Channel, pubkey: string): string => (channel.a === pubkey ? channel.b : channel.a)
const balanceOf = (channel: Channel, pubkey: string): bigint => (channel.a === pubkey ? channel.a_msat : channel.b_msat)
/** @returns msat that a side can send now */
export const sendableMsat = (channel: Channel, pubkey: string): bigint => {
  const left = balanceOf(channel, pubkey) - (channel.capacity_sat / RESERVE_SHARE) * 1000n
  return left > 0n && channel.slots < MAX_SLOTS ? left : 0n
}

export type ChannelState = OwnChannel['state'] | 'gone'

/**
 * 'gone': closed on chain, or given up, which is pending to a viewer at its other end until that forgets it. One whose funding
 * was forgotten, or lost against another transaction, is pending for ever: a node cannot tell that nobody has it any more. One
 * that came into use before that stays in use (lnd).
 */
export function stateOf(channel: Channel, viewer?: string): ChannelState {
  if (channel.state === 'abandoned') return channel.b === viewer && channel.pending_until !== null ? 'pending' : 'gone'
  if (channel.state !== 'published') return 'pending'
  if (channel.spent_height !== null) return 'gone'
  if (channel.is_spent === 1n) return 'closing'
  if (channel.used_height === null) return 'pending'
  return channel.is_online === 1n ? 'active' : 'inactive'
}

export const isActive = (channel: Channel): boolean => stateOf(channel) === 'active'

/** @returns whether that node has the channel in its graph: its own as soon as it is used, others when they are announced */
export const knows = (viewer: string, channel: Channel, height: number): boolean =>
  channel.is_unlisted === 0n &&
  (isAnnounced(channel, height) || ((channel.a === viewer || channel.b === viewer) && isActive(channel)))

const isAnnounced = (channel: Channel, height: number): boolean =>
  channel.state === 'published' &&
  channel.is_private === 0n &&
  channel.is_spent === 0n &&
  depthOf(channel, height) >= DEPTH_ANNOUNCED

/** What a node tells its owner about its channels. The opener of a channel that is not as ordered says that it is. */
export function listChannels(net: Net, pubkey: string): OwnChannel[] {
  return channelsOf(net, pubkey).flatMap((channel) => {
    const state = stateOf(channel, pubkey)
    const ours = channel.a === pubkey
    if (state === 'gone') return []
    const lie = ours && channel.claimed_sat !== channel.capacity_sat
    return [
      {
        outpoint: channel.outpoint,
        shortChannelId: shortIdOf(channel),
        peer: ours ? channel.claimed_peer : channel.a,
        capacitySat: ours ? channel.claimed_sat : channel.capacity_sat,
        localSat: lie ? channel.claimed_sat : balanceOf(channel, pubkey) / 1000n,
        remoteSat: balanceOf(channel, otherEnd(channel, pubkey)) / 1000n,
        isPrivate: channel.is_private === 1n,
        channelType: channel.is_taproot === 1n ? 'simplified_taproot' : 'anchor',
        isPrepared: ours,
        reserveSat: (ours ? channel.claimed_sat : channel.capacity_sat) / RESERVE_SHARE,
        state,
        openedByUs: ours,
      },
    ]
  })
}

/** What changes how a channel stands rings there for both of its ends; blocks ring for everybody. */
export const channelsTopic = (pubkey: string): string => `channels/${pubkey}`

export function touchEnds(net: Net, { a, b }: Pick<Channel, 'a' | 'b'>): void {
  for (const end of [a, b]) net.touch(channelsTopic(end))
}

type Closing = {
  /** The end that does it; the opener unless told. */
  readonly by?: string
  readonly force: boolean
  readonly feeSat: bigint
}

/**
 * Ends a channel: each side's coins go back to its wallet, the opener pays the fee. Both kinds look alike on the chain
 * here; by force it works while the other end is offline. @throws Error while payments are under way in it
 */
export function closeChannel(net: Net, outpoint: string, { by, force, feeSat }: Closing): string {
  const channel = findChannel(net, outpoint)
  if (!channel || channel.state !== 'published' || channel.is_seen === 0n || channel.is_spent === 1n)
    throw new Error(`no open channel ${outpoint}`)
  if (channel.held_msat > 0n || channel.slots > 0n) throw new Error('payments are under way in it: settle or cancel them first')
  if (!force && channel.is_online === 0n) throw new Error('the other end is offline: close it by force')
  const closer = by ?? channel.a
  if (closer !== channel.a && closer !== channel.b) throw new Error(`whoever closes ${outpoint} has to be one of its ends`)
  net.run('UPDATE channels SET closed_by = ?, is_forced = ? WHERE outpoint = ?', closer, force ? 1 : 0, outpoint)
  touchEnds(net, channel)
  const openerSat = channel.a_msat / 1000n - feeSat
  const outputs = [
    { valueSat: openerSat > 0n ? openerSat : 0n, script: walletScriptOf(net, channel.a) },
    { valueSat: channel.b_msat / 1000n, script: walletScriptOf(net, channel.b) },
  ].filter(({ valueSat }) => valueSat > 0n)
  const transaction: Transaction = { inputs: [{ txid: channel.txid, vout: Number(channel.vout) }], outputs }
  const paidSat = channel.capacity_sat - outputs.reduce((sum, { valueSat }) => sum + valueSat, 0n)
  const vsize = channel.is_taproot === 1n ? TAPROOT_CLOSE_VBYTES : CLOSE_VBYTES
  return acceptTransaction(net, transaction, { feeSat: paidSat, vsize })
}

const CLOSE_FEE_SAT = 200n

/** As a node ends its own: with the other end where that is there, else by force. @throws Fault where it cannot be ended now */
export function closeOwnChannel(net: Net, node: string, outpoint: string): void {
  const listed = listChannels(net, node).find((one) => one.outpoint === outpoint)
  const channel = findChannel(net, outpoint)
  if (!listed || !channel || listed.state === 'closing') return
  if (listed.state === 'pending') throw new Fault(`the channel ${outpoint} is not open yet`)
  if (channel.held_msat > 0n || channel.slots > 0n) throw new Fault(`payments are under way in ${outpoint}`)
  closeChannel(net, outpoint, { by: node, force: listed.state === 'inactive', feeSat: CLOSE_FEE_SAT })
}

const walletScriptOf = (net: Net, pubkey: string): string =>
  net.get<{ script: string }>('SELECT script FROM nodes WHERE pubkey = ?', pubkey)?.script ?? walletScript(pubkey)
