import { Fault } from '@penstock/kernel/result.ts'
import { DAY_MS } from '@penstock/kernel/time.ts'
import { expect, test } from 'vitest'
import type { Graph, GraphChannel } from '@penstock/ports/lightning.ts'
import { findSellersWithChannel, recordRequestedChannel } from './existing-channels.ts'

function setUp(between: Graph['between'] = () => Promise.resolve([])) {
  const requestedAt = new Map<string, number>()
  const clock = { at: 1000, now: () => clock.at }
  const limits = {
    touch: async (key: string, now: number) => void requestedAt.set(key, now),
    lastSeen: async (key: string) => requestedAt.get(key),
  }
  return { clock, ports: { graph: { between }, limits, clock } }
}
const channelRequest = (isPrivate: boolean, pubkey = 'buyer') => ({ isPrivate, destination: { pubkey } })

test('a seller with an announced channel to the buyer is a last resort for a private channel', async () => {
  const channels = [{}] as unknown as readonly GraphChannel[] // Only the number of channels counts.
  const { ports } = setUp((seller) => Promise.resolve(seller === 'linked' ? channels : []))
  expect(await findSellersWithChannel(ports, channelRequest(true), ['other', 'linked', 'linked'])).toEqual(['linked'])
  expect(await findSellersWithChannel(ports, channelRequest(false), ['linked'])).toEqual([])
})

test('for a day after a request for a public channel, its seller is a last resort for a private channel', async () => {
  const { ports, clock } = setUp()
  await recordRequestedChannel(ports, channelRequest(false), 'asked')
  await recordRequestedChannel(ports, channelRequest(true), 'asked-privately')
  await recordRequestedChannel(ports, channelRequest(false), undefined)
  const sellers = ['asked', 'asked-privately', 'other']
  expect(await findSellersWithChannel(ports, channelRequest(true), sellers)).toEqual(['asked'])
  expect(await findSellersWithChannel(ports, channelRequest(true, 'somebody else'), sellers)).toEqual([])
  clock.at += DAY_MS
  expect(await findSellersWithChannel(ports, channelRequest(true), sellers)).toEqual([])
})

test('no seller is a last resort when the node does not answer', async () => {
  const { ports } = setUp(() => Promise.reject(new Fault('the node is away')))
  expect(await findSellersWithChannel(ports, channelRequest(true), ['a'])).toEqual([])
})
