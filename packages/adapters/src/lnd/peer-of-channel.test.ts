import { readBlock } from '@penstock/bitcoin/raw.ts'
import type { AuthenticatedLnd } from 'lightning'
import { expect, test, vi } from 'vitest'
import { systemClock } from '../system/clock.ts'
import { peerOfChannel } from './peer-of-channel.ts'

const lists = vi.hoisted(() => ({
  channels: [] as object[],
  pending: [] as object[],
  closed: [] as object[],
  block: '',
  blocksRead: [] as number[],
}))
vi.mock('lightning', () => ({
  getChannels: async () => ({ channels: lists.channels }),
  getPendingChannels: async () => ({ pending_channels: lists.pending }),
  getClosedChannels: async () => ({ channels: lists.closed }),
  getBlock: async ({ height }: { readonly height: number }) => {
    lists.blocksRead.push(height)
    return { block: lists.block }
  },
}))

const transaction = (lockTime: number): string =>
  ['02000000', '01', '00'.repeat(32), '00000000', '00', 'ffffffff', '01', '0000000000000000', '00', `0${lockTime}000000`].join('')
const block = `${'00'.repeat(80)}03${transaction(0)}${transaction(1)}${transaction(2)}`
const txids = readBlock(block).transactions.map(({ txid }) => txid)

const peers = (change: Partial<typeof lists>) => {
  Object.assign(lists, { channels: [], pending: [], closed: [], block, blocksRead: [] }, change)
  return peerOfChannel({ clock: systemClock, lnd: () => ({}) as AuthenticatedLnd, ask: (work) => work({} as AuthenticatedLnd) })
}
const closing = (txIndex: number, partner: string) => ({
  is_opening: false,
  transaction_id: txids[txIndex],
  transaction_vout: 0,
  partner_public_key: partner,
})

test('an open channel names its peer by each of its ids', async () => {
  const peerOf = peers({ channels: [{ id: '7x1x0', other_ids: ['16000000x0x0'], partner_public_key: 'open' }] })
  expect([await peerOf('7x1x0'), await peerOf('16000000x0x0')]).toEqual(['open', 'open'])
})

test('a channel that is closing names its peer by the transaction at the place that its id names', async () => {
  const peerOf = peers({ pending: [closing(1, 'one'), closing(2, 'other')] })
  expect([await peerOf('600x1x0'), await peerOf('600x2x0'), await peerOf('600x1x0')]).toEqual(['one', 'other', 'one'])
  expect(lists.blocksRead).toEqual([600, 600])
})

test('a closed channel names its peer', async () => {
  const peerOf = peers({ closed: [{ id: '7x1x0', partner_public_key: 'closed' }] })
  expect(await peerOf('7x1x0')).toBe('closed')
})

test('a channel that lnd does not list has no known peer', async () => {
  const peerOf = peers({ pending: [closing(1, 'one')] })
  expect(await peerOf('600x0x0')).toBeNull()
  expect(await peerOf('600x1x1')).toBeNull()
})
