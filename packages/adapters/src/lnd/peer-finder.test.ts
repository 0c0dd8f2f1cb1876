import { readBlock } from '@penstock/bitcoin/raw-encoding.ts'
import type { AuthenticatedLnd } from 'lightning'
import { expect, test } from 'vitest'
import { stillClock } from '@penstock/ports/still-clock.fixture.ts'
import { createPeerFinder } from './peer-finder.ts'

const lists = {
  channels: [] as object[],
  pending: [] as object[],
  closed: [] as object[],
  block: '',
  blocksRead: [] as number[],
}
const calls = {
  getChannels: async () => ({ channels: lists.channels }),
  getPendingChannels: async () => ({ pending_channels: lists.pending }),
  getClosedChannels: async () => ({ channels: lists.closed }),
  getBlock: async ({ height }: { readonly height: number }) => {
    lists.blocksRead.push(height)
    return { block: lists.block }
  },
} as unknown as Parameters<typeof createPeerFinder>[1] // each answer has only the fields that are read

const transaction = (lockTime: number): string =>
  ['02000000', '01', '00'.repeat(32), '00000000', '00', 'ffffffff', '01', '0000000000000000', '00', `0${lockTime}000000`].join('')
const block = `${'00'.repeat(80)}03${transaction(0)}${transaction(1)}${transaction(2)}`
const txids = readBlock(block).transactions.map(({ txid }) => txid)

const peers = (change: Partial<typeof lists>) => {
  Object.assign(lists, { channels: [], pending: [], closed: [], block, blocksRead: [] }, change)
  const lnd = {} as AuthenticatedLnd
  return createPeerFinder({ clock: stillClock, lnd: () => lnd, ask: (work) => work(lnd) }, calls)
}
const closing = (txIndex: number, partner: string) => ({
  is_opening: false,
  transaction_id: txids[txIndex],
  transaction_vout: 0,
  partner_public_key: partner,
})

test('the peer of an open channel is found by each id of the channel', async () => {
  const findPeer = peers({ channels: [{ id: '7x1x0', other_ids: ['16000000x0x0'], partner_public_key: 'open' }] })
  expect([await findPeer('7x1x0'), await findPeer('16000000x0x0')]).toEqual(['open', 'open'])
})

test('the peer of a closing channel is found by the transaction at the position in the channel id', async () => {
  const findPeer = peers({ pending: [closing(1, 'one'), closing(2, 'other')] })
  expect([await findPeer('600x1x0'), await findPeer('600x2x0'), await findPeer('600x1x0')]).toEqual(['one', 'other', 'one'])
  expect(lists.blocksRead).toEqual([600, 600])
})

test('the peer of a closed channel is found', async () => {
  const findPeer = peers({ closed: [{ id: '7x1x0', partner_public_key: 'closed' }] })
  expect(await findPeer('7x1x0')).toBe('closed')
})

test('a channel that lnd does not list has no known peer', async () => {
  const findPeer = peers({ pending: [closing(1, 'one')] })
  expect(await findPeer('600x0x0')).toBeNull()
  expect(await findPeer('600x1x1')).toBeNull()
})
