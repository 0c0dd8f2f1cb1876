import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/all.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { effect, type Next } from '@penstock/kernel/process.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { until } from '@penstock/testkit/until.ts'
import { test } from 'vitest'
import { newCommand } from './messages.ts'
import { serviceCore } from './core.ts'
import { aggregate, service } from './service.ts'
import { migrateUnfinished } from './unfinished.ts'

const ORDER = '00000000-0000-4000-8000-000000000001'

type Count = { readonly count: number }
type Claim = Fact<'PayhashClaimed', { orderId: string }>
const counting: Decider<Count, Command<'ClaimPayhash', { orderId: string }>, Claim> = {
  initial: { count: 0 },
  evolve: ({ count }) => ({ count: count + 1 }),
  decide: (_, { data: { orderId } }) => accept({ type: 'PayhashClaimed', v: 1, data: { orderId } }),
}

/** Replicas of one service on one store. The process of its stream asks for what `wishes` says of the number of its facts. */
async function replicas(wishes: (count: number) => readonly Next<Command, 'knock'>[]) {
  const { platform, store } = await memoryWorld()
  await migrateUnfinished(platform.views)
  const replica = (knock: (count: number) => Promise<null> = () => Promise.resolve(null)) => {
    const stop = new AbortController()
    const own = aggregate({
      contract: contractOf('payhash'),
      decider: counting,
      hashed: { version: 1, of: { 1: (state: Count) => state } },
      process: ({ count }: Count) => wishes(count),
      effects: { knock: ({ count }: Count) => knock(count) },
    })
    const core = serviceCore(service('settlement', { aggregates: [own] }), platform, platform, stop.signal)
    const tell = (id: string, notAfter?: number) =>
      core.decide(
        newCommand({
          id,
          category: 'payhash',
          aggregateId: 'x',
          command: { type: 'ClaimPayhash', data: { orderId: ORDER } },
          at: 0,
          correlation: ORDER,
          ...(notAfter !== undefined && { notAfter }),
        }),
      )
    return { ...core, tell, stop: () => stop.abort() }
  }
  return { replica, store }
}

test('a replica that goes through what is unfinished sees what another has appended before it died', async () => {
  const knocks: number[] = []
  const { replica } = await replicas((count) => (count === 2 ? [effect('knock')] : []))
  const survivor = replica(async (count) => {
    knocks.push(count)
    survivor.stop()
    return null
  })
  const dying = replica()
  await survivor.tell('c1')
  dying.stop() // it starts no effects any more
  await dying.tell('c2')
  await survivor.advance('payhash', 'x', { afresh: false })
  await until('it takes over', () => knocks.length > 0)
  assert.deepEqual(knocks, [2])
})

test('what another replica has carried out and recorded is not done again', async () => {
  let knocks = 0
  const { replica } = await replicas((count) => (count === 1 ? [effect('knock')] : []))
  const one = replica(async () => {
    knocks += 1
    await other.tell('c2')
    return null // it learns nothing by this, and would ask again
  })
  const other = replica()
  other.stop()
  await one.tell('c1')
  await until('it has looked', () => knocks > 0)
  await one.close()
  assert.equal(knocks, 1)
})

test('what a loop is shown has in it what others have appended', async () => {
  const { replica } = await replicas(() => [])
  const [one, other] = [replica(), replica()]
  await one.tell('c1')
  await other.tell('c2')
  const { state, revision } = await one.context.load('payhash', 'x')
  assert.deepEqual({ state, revision }, { state: { count: 2 }, revision: 1 })
})

test('a command that another replica has accepted is not refused because it comes again too late', async () => {
  const { replica, store } = await replicas(() => [])
  const [one, other] = [replica(), replica()]
  await one.tell('c1')
  await other.tell('c2', Number.MAX_SAFE_INTEGER)
  assert.deepEqual(await one.tell('c2', 1), { outcome: 'accepted', revision: 1, news: false })
  assert.equal((await one.tell('c3', 1)).outcome, 'refused')
  assert.equal((await store.read('payhash-x')).length, 2)
})
