import { formatShortChannelId } from '@penstock/bitcoin/outpoint.ts'
import { readBlock } from '@penstock/bitcoin/raw.ts'
import type { OwnChannel } from '@penstock/ports/lightning.ts'
import { getBlock, getChannels, getPendingChannels, type GetPendingChannelsResult } from 'lightning'
import { isNoted, type OpenChannel } from './coin-locks.ts'
import type { Connection } from './connection.ts'

/** Open ones and those on their way in or out, in the order in which lnd lists them. */
export async function ownChannels(node: Connection): Promise<readonly OwnChannel[]> {
  const { open, pending } = await listed(node)
  const blocks = blocksOf(node)
  return [...open, ...(await Promise.all(pending.map(async (channel) => fromPending(channel, await placeOf(blocks, channel)))))]
}

/** The same without the places of those that cannot be used yet: to find one takes a whole block. */
export async function channelStates(node: Connection): Promise<readonly OwnChannel[]> {
  const { open, pending } = await listed(node)
  return [...open, ...pending.map((channel) => fromPending(channel, null))]
}

type Listed = { readonly open: readonly OwnChannel[]; readonly pending: readonly Pending[] }

async function listed({ ask }: Connection): Promise<Listed> {
  // The pending ones first: one that opens in between is then listed twice rather than not at all.
  const { pending_channels } = await ask((lnd) => getPendingChannels({ lnd }))
  const { channels } = await ask((lnd) => getChannels({ lnd }))
  const open = channels.map(fromOpen)
  const seen = new Set(open.map(({ outpoint }) => outpoint))
  return { open, pending: pending_channels.filter(isOurs).filter((channel) => !seen.has(outpointOf(channel))) }
}

type Pending = GetPendingChannelsResult['pending_channels'][number]

const outpointOf = ({ transaction_id, transaction_vout }: Pending): string => `${transaction_id}:${transaction_vout}`

/** One that is closed, and only waits for its coins, is nobody's channel any more. */
const isOurs = (channel: Pending): boolean =>
  channel.is_opening || (!channel.is_timelocked && channel.close_transaction_id !== undefined)

/** Where the funding of a channel stands that is in a block and not yet deep enough: lnd tells the height alone. */
async function placeOf(transactionsAt: TransactionsAt, channel: Pending): Promise<string | null> {
  const height = channel.opening_funding_height
  if (!channel.is_opening || !height) return null
  const txIndex = (await transactionsAt(height)).indexOf(channel.transaction_id)
  return txIndex === -1 ? null : formatShortChannelId({ height, txIndex, vout: channel.transaction_vout })
}

type TransactionsAt = (height: number) => Promise<readonly string[]>

/** Each block is read once, however many fundings are in it. */
function blocksOf({ ask }: Connection): TransactionsAt {
  const lists = new Map<number, Promise<readonly string[]>>()
  const read = async (height: number): Promise<readonly string[]> =>
    readBlock((await ask((lnd) => getBlock({ lnd, height }))).block).transactions.map(({ txid }) => txid)
  return (height) => {
    const list = lists.get(height) ?? read(height)
    lists.set(height, list)
    return list
  }
}

const fromOpen = (channel: OpenChannel): OwnChannel => ({
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
  isPrepared: isNoted(channel),
})

const fromPending = (channel: Pending, shortChannelId: string | null): OwnChannel => ({
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
  isPrepared: isNoted(channel),
})
