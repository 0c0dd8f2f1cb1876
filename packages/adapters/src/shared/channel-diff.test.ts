import type { ClosedChannel, OwnChannel } from '@penstock/ports/lightning.ts'
import { expect, test } from 'vitest'
import { createChannelDiff } from './channel-diff.ts'

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
const summarize = (diff: readonly { outpoint: string; state: string }[] | undefined) =>
  diff?.map(({ outpoint, state }) => `${outpoint} ${state}`)

test('an update reports each channel once, and again only after its state has changed', () => {
  const diff = createChannelDiff()
  expect(summarize(diff.update([channel('a', 'pending'), channel('b', 'active')], [closed('c', 'us')]))).toEqual([
    'a pending',
    'b active',
    'c closed',
  ])
  expect(diff.update([channel('a', 'pending'), channel('b', 'active', 9n)], [])).toBeUndefined()
  expect(summarize(diff.update([channel('a', 'active'), channel('b', 'inactive')], []))).toEqual(['a active', 'b inactive'])
})

test('a vanished channel is missing until its close is reported, and again reported once its initiator is known', () => {
  const diff = createChannelDiff()
  diff.update([channel('a', 'active')], [])
  expect(diff.missing([channel('a', 'inactive')])).toEqual([])
  expect(diff.missing([])).toEqual(['a'])
  expect(diff.update([], [])).toBeUndefined()
  expect(diff.missing([])).toEqual(['a'])
  expect(summarize(diff.update([], [closed('a', null)]))).toEqual(['a closed'])
  expect(diff.missing([])).toEqual([])
  expect(diff.update([], [closed('a', null)])).toBeUndefined()
  expect(summarize(diff.update([], [closed('a', 'peer')]))).toEqual(['a closed'])
})

test('a close that a re-organisation undid is reported as the new state of the channel', () => {
  const diff = createChannelDiff()
  diff.update([], [closed('a', 'us')])
  expect(summarize(diff.update([channel('a', 'closing')], []))).toEqual(['a closing'])
  expect(summarize(diff.update([], [closed('a', 'us')]))).toEqual(['a closed'])
})
