import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { test } from 'vitest'
import { verifyLog } from '@penstock/audit/verify.ts'
import { handleCommand } from './handle-command.ts'
import { newCommand } from './messages.ts'
import { defineAggregate, defineService } from '../service.ts'
import { createStreamCache } from './stream-cache.ts'

type Watched = { readonly seen: number }
/** Appends a fact for each reason in the enriched data, in every state. */
const watch: Decider<Watched, Command<'StopWatch', { reasons: readonly string[] }>, Fact<'WatchStopped', { reason: string }>> = {
  initial: { seen: 0 },
  evolve: ({ seen }) => ({ seen: seen + 1 }),
  decide: (_, { data }) => accept(...data.reasons.map((reason) => ({ type: 'WatchStopped' as const, v: 1, data: { reason } }))),
}
const projections = { 1: (state: Watched) => state, 2: ({ seen }: Watched) => ({ count: seen }) }
const hashing = (version: 1 | 2) =>
  defineAggregate({ contract: contractOf('channel'), decider: watch, hashed: { version, projections } })
const channel = hashing(1)
const channelOfTheNextRelease = hashing(2)
const ID = '00000000-0000-4000-8000-000000000001'

async function twoReplicas() {
  const { platform, store } = await createMemoryPlatform()
  const replica = () => ({
    service: 'channel-watcher',
    store,
    streams: createStreamCache(store, () => undefined),
    ports: platform,
    signal: new AbortController().signal,
  })
  const [one, other] = [replica(), replica()]
  const decideAs =
    (release: typeof channel) =>
    (context: typeof one, commandId: string, ...reasons: readonly string[]) => {
      const body = { type: 'StopWatch', data: {} }
      const command = newCommand({ id: commandId, category: 'channel', aggregateId: ID, command: body, at: 1, correlation: ID })
      return handleCommand(context, release, command, { data: { reasons } })
    }
  return { store, one, other, decide: decideAs(channel), decideAs }
}

const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ['another reason', ['a'], ['b']],
  ['more reasons', ['a'], ['a', 'b']],
  ['fewer reasons', ['a', 'b'], ['a']],
  ['the same reasons', ['a', 'b'], ['a', 'b']],
]

test.each(cases)('a command that two replicas decide at once counts once, if the second gets %s', async (_, first, second) => {
  const { store, one, other, decide } = await twoReplicas()
  await decide(one, 'c0', 'begin')
  await other.streams.load(channel, ID)
  assert.deepEqual(await decide(one, 'c1', ...first), { outcome: 'accepted', revision: first.length, hasAppended: true })
  const { outcome } = await decide(other, 'c1', ...second)
  assert.equal(outcome, 'accepted')
  await decide(other, 'c2', 'end')
  const events = await store.read(`channel-${ID}`)
  assert.deepEqual(
    events.map(({ data }) => data),
    ['begin', ...first, 'end'].map((reason) => JSON.stringify({ reason })),
  )
  const report = await verifyLog(store, [defineService('channel-watcher', { aggregates: [channel] })])
  assert.equal(report.divergences, 0)
})

test('a command that replicas of two releases decide at once counts once, although they hash different states', async () => {
  const { store, one, other, decide, decideAs } = await twoReplicas()
  const decideNext = decideAs(channelOfTheNextRelease)
  await decide(one, 'c0', 'begin')
  await other.streams.load(channelOfTheNextRelease, ID)
  await decide(one, 'c1', 'a')
  assert.deepEqual(await decideNext(other, 'c1', 'a'), { outcome: 'accepted', revision: 1, hasAppended: false })
  await decideNext(other, 'c2', 'end')
  assert.equal((await store.read(`channel-${ID}`)).length, 3)
  const report = await verifyLog(store, [defineService('channel-watcher', { aggregates: [channelOfTheNextRelease] })])
  assert.equal(report.divergences, 0)
})

test('a command that another replica has decided at a later revision counts once', async () => {
  const { store, one, other, decide } = await twoReplicas()
  await decide(one, 'c0', 'begin')
  await other.streams.load(channel, ID)
  await decide(one, 'c1', 'a')
  await decide(one, 'c2', 'b')
  assert.deepEqual(await decide(other, 'c2', 'b'), { outcome: 'accepted', revision: 2, hasAppended: false })
  assert.equal((await store.read(`channel-${ID}`)).length, 3)
})

test('a fact that its contract does not allow is a bug, and nothing is appended', async () => {
  const { store, one, decide } = await twoReplicas()
  await decide(one, 'c0', 'begin')
  await assert.rejects(decide(one, 'c1', 'fine', ''), /WatchStopped is malformed: reason/)
  assert.equal((await store.read(`channel-${ID}`)).length, 1)
})
