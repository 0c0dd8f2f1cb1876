import { formatShortChannelId } from '@penstock/bitcoin/outpoint.ts'
import { readBlock } from '@penstock/bitcoin/raw-encoding.ts'
import type { OwnChannel } from '@penstock/ports/lightning.ts'
import { getBlock, getChannels, getPendingChannels, type GetPendingChannelsResult } from 'lightning'
import { hasPenstockMemo, type LndOpenChannel } from './utxo-locks.ts'
import type { LndConnection } from '../connection.ts'

/** Lists channels that are open, opening or closing, in the order of lnd. */
export async function listOwnChannels(node: LndConnection): Promise<readonly OwnChannel[]> {
  const { open, pending } = await listOpenAndPending(node)
  const listTxids = createTxidLister(node)
  return [
    ...open,
    ...(await Promise.all(pending.map(async (channel) => fromPending(channel, await findShortChannelId(listTxids, channel))))),
  ]
}

/** Lists the same channels, but pending channels without a short channel id, since each id requires reading a whole block. */
export async function listChannelStates(node: LndConnection): Promise<readonly OwnChannel[]> {
  const { open, pending } = await listOpenAndPending(node)
  return [...open, ...pending.map((channel) => fromPending(channel, null))]
}

type ListedChannels = { readonly open: readonly OwnChannel[]; readonly pending: readonly PendingChannel[] }

async function listOpenAndPending({ ask }: LndConnection): Promise<ListedChannels> {
  // Pending channels are read first, so that a channel that opens in between is listed twice rather than not at all.
  const { pending_channels } = await ask((lnd) => getPendingChannels({ lnd }))
  const { channels } = await ask((lnd) => getChannels({ lnd }))
  const open = channels.map(fromOpen)
  const seen = new Set(open.map(({ outpoint }) => outpoint))
  return { open, pending: pending_channels.filter(isOpeningOrClosing).filter((channel) => !seen.has(outpointOf(channel))) }
}

type PendingChannel = GetPendingChannelsResult['pending_channels'][number]

const outpointOf = ({ transaction_id, transaction_vout }: PendingChannel): string => `${transaction_id}:${transaction_vout}`

/** Excludes a closed channel whose coins are not back in a wallet yet. */
const isOpeningOrClosing = (channel: PendingChannel): boolean =>
  channel.is_opening || (!channel.is_timelocked && channel.close_transaction_id !== undefined)

/** Finds the short channel id of a funding with too few confirmations. lnd reports only the height of its block. */
async function findShortChannelId(listTxids: TxidLister, channel: PendingChannel): Promise<string | null> {
  const height = channel.opening_funding_height
  if (!channel.is_opening || !height) return null
  const txIndex = (await listTxids(height)).indexOf(channel.transaction_id)
  return txIndex === -1 ? null : formatShortChannelId({ height, txIndex, vout: channel.transaction_vout })
}

type TxidLister = (height: number) => Promise<readonly string[]>

/** Lists the transactions of a block, and reads each block only once. */
function createTxidLister({ ask }: LndConnection): TxidLister {
  const lists = new Map<number, Promise<readonly string[]>>()
  const read = async (height: number): Promise<readonly string[]> =>
    readBlock((await ask((lnd) => getBlock({ lnd, height }))).block).transactions.map(({ txid }) => txid)
  return (height) => {
    const list = lists.get(height) ?? read(height)
    lists.set(height, list)
    return list
  }
}

const fromOpen = (channel: LndOpenChannel): OwnChannel => ({
  outpoint: `${channel.transaction_id}:${channel.transaction_vout}`,
  shortChannelId: channel.id,
  peer: channel.partner_public_key,
  capacitySat: BigInt(channel.capacity),
  localSat: BigInt(channel.local_balance),
  remoteSat: BigInt(channel.remote_balance),
  isPrivate: channel.is_private,
  channelType: channel.type ?? 'unknown',
  reserveSat: BigInt(channel.local_reserve),
  state: channel.is_active ? 'active' : 'inactive',
  openedByUs: !channel.is_partner_initiated,
  isPrepared: hasPenstockMemo(channel),
})

const fromPending = (channel: PendingChannel, shortChannelId: string | null): OwnChannel => ({
  outpoint: outpointOf(channel),
  shortChannelId,
  peer: channel.partner_public_key,
  capacitySat: BigInt(channel.capacity),
  localSat: BigInt(channel.local_balance),
  remoteSat: BigInt(channel.remote_balance),
  isPrivate: channel.is_private ?? false,
  channelType: channel.type ?? 'unknown',
  reserveSat: BigInt(channel.local_reserve),
  state: channel.is_opening ? 'pending' : 'closing',
  openedByUs: channel.is_partner_initiated === false,
  isPrepared: hasPenstockMemo(channel),
})
