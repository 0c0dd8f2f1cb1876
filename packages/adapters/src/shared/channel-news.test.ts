import type { ClosedChannel, OwnChannel } from '@penstock/ports/lightning.ts'
import { expect, test } from 'vitest'
import { channelNews } from './channel-news.ts'

const channel = (outpoint: string, state: OwnChannel['state'], localSat = 1n): OwnChannel => ({
  outpoint,
  shortChannelId: '1x1x0',
  peer: '02',
  capacitySat: 2n,
  localSat,
  remoteSat: 0n,
  isPrivate: true,
  channelType: 'anchor',
  reserveSat: 0n,
  state,
  openedByUs: true,
  isPrepared: true,
})
const closed = (outpoint: string, by: ClosedChannel['by']): ClosedChannel => ({
  outpoint,
  shortChannelId: null,
  peer: '02',
  how: 'force',
  by,
  closingTxid: 'ab',
  height: 7,
})
const told = (news: readonly { outpoint: string; state: string }[] | undefined) =>
  news?.map(({ outpoint, state }) => `${outpoint} ${state}`)

test('everything is told once, and again only where it stands in another way', () => {
  const news = channelNews()
  expect(told(news.from([channel('a', 'pending'), channel('b', 'active')], [closed('c', 'us')]))).toEqual([
    'a pending',
    'b active',
    'c closed',
  ])
  expect(news.from([channel('a', 'pending'), channel('b', 'active', 9n)], [])).toBeUndefined()
  expect(told(news.from([channel('a', 'active'), channel('b', 'inactive')], []))).toEqual(['a active', 'b inactive'])
})

test('a channel that is gone is missed until its close is told; a close is told again once it is known who began it', () => {
  const news = channelNews()
  news.from([channel('a', 'active')], [])
  expect(news.missing([channel('a', 'inactive')])).toEqual([])
  expect(news.missing([])).toEqual(['a'])
  expect(news.from([], [])).toBeUndefined()
  expect(news.missing([])).toEqual(['a'])
  expect(told(news.from([], [closed('a', null)]))).toEqual(['a closed'])
  expect(news.missing([])).toEqual([])
  expect(news.from([], [closed('a', null)])).toBeUndefined()
  expect(told(news.from([], [closed('a', 'peer')]))).toEqual(['a closed'])
})

test('a close that a re-organisation took back is told as what the channel is then', () => {
  const news = channelNews()
  news.from([], [closed('a', 'us')])
  expect(told(news.from([channel('a', 'closing')], []))).toEqual(['a closing'])
  expect(told(news.from([], [closed('a', 'us')]))).toEqual(['a closed'])
})
