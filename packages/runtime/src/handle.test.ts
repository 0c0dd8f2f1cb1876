import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/all.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { test } from 'vitest'
import { audit } from './audit.ts'
import { handle } from './handle.ts'
import { newCommand } from './messages.ts'
import { aggregate, service } from './service.ts'
import { streams } from './streams.ts'

type Watched = { readonly seen: number }
/** Notes as many sights as the enrichment says, whatever was noted before. */
const watch: Decider<Watched, Command<'StopWatch', { sights: readonly string[] }>, Fact<'WatchStopped', { reason: string }>> = {
  initial: { seen: 0 },
  evolve: ({ seen }) => ({ seen: seen + 1 }),
  decide: (_, { data }) => accept(...data.sights.map((reason) => ({ type: 'WatchStopped' as const, v: 1, data: { reason } }))),
}
const projections = { 1: (state: Watched) => state, 2: ({ seen }: Watched) => ({ count: seen }) }
const hashing = (version: 1 | 2) =>
  aggregate({ contract: contractOf('channel'), decider: watch, hashed: { version, of: projections } })
const channel = hashing(1)
const channelOfTheNextRelease = hashing(2)
const ID = '00000000-0000-4000-8000-000000000001'

async function twoReplicas() {
  const { platform, store } = await memoryWorld()
  const replica = () => ({
    service: 'channel-watcher',
    store,
    streams: streams(store, () => undefined),
    ports: platform,
    signal: new AbortController().signal,
  })
  const [one, other] = [replica(), replica()]
  const decideAs =
    (release: typeof channel) =>
    (by: typeof one, commandId: string, ...sights: readonly string[]) => {
      const wish = { type: 'StopWatch', data: {} }
      const command = newCommand({ id: commandId, category: 'channel', aggregateId: ID, command: wish, at: 1, correlation: ID })
      return handle(by, release, command, { data: { sights } })
    }
  return { store, one, other, decide: decideAs(channel), decideAs }
}

const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ['another sight', ['a'], ['b']],
  ['more sights', ['a'], ['a', 'b']],
  ['fewer sights', ['a', 'b'], ['a']],
  ['the same sights', ['a', 'b'], ['a', 'b']],
]

test.each(cases)('a command that two replicas decide at once, the second with %s, counts once', async (_, first, second) => {
  const { store, one, other, decide } = await twoReplicas()
  await decide(one, 'c0', 'begin')
  await other.streams.load(channel, ID)
  assert.deepEqual(await decide(one, 'c1', ...first), { outcome: 'accepted', revision: first.length, news: true })
  const { outcome } = await decide(other, 'c1', ...second)
  assert.equal(outcome, 'accepted')
  await decide(other, 'c2', 'end')
  const events = await store.read(`channel-${ID}`)
  assert.deepEqual(
    events.map(({ data }) => data),
    ['begin', ...first, 'end'].map((reason) => JSON.stringify({ reason })),
  )
  const report = await audit(store, [service('channel-watcher', { aggregates: [channel] })])
  assert.equal(report.divergences, 0)
})

test('a command that replicas of two releases decide at once, which hash other states, counts once', async () => {
  const { store, one, other, decide, decideAs } = await twoReplicas()
  const decideNext = decideAs(channelOfTheNextRelease)
  await decide(one, 'c0', 'begin')
  await other.streams.load(channelOfTheNextRelease, ID)
  await decide(one, 'c1', 'a')
  assert.deepEqual(await decideNext(other, 'c1', 'a'), { outcome: 'accepted', revision: 1, news: false })
  await decideNext(other, 'c2', 'end')
  assert.equal((await store.read(`channel-${ID}`)).length, 3)
  const report = await audit(store, [service('channel-watcher', { aggregates: [channelOfTheNextRelease] })])
  assert.equal(report.divergences, 0)
})

test('a command that another replica has decided later in the stream counts once', async () => {
  const { store, one, other, decide } = await twoReplicas()
  await decide(one, 'c0', 'begin')
  await other.streams.load(channel, ID)
  await decide(one, 'c1', 'a')
  await decide(one, 'c2', 'b')
  assert.deepEqual(await decide(other, 'c2', 'b'), { outcome: 'accepted', revision: 2, news: false })
  assert.equal((await store.read(`channel-${ID}`)).length, 3)
})

test('a fact that its contract does not allow is a bug, and nothing is appended', async () => {
  const { store, one, decide } = await twoReplicas()
  await decide(one, 'c0', 'begin')
  await assert.rejects(decide(one, 'c1', 'fine', ''), /WatchStopped is malformed: reason/)
  assert.equal((await store.read(`channel-${ID}`)).length, 1)
})
