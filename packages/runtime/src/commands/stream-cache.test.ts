import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { effect, type ProcessStep } from '@penstock/kernel/process.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { test } from 'vitest'
import { newCommand } from './messages.ts'
import { createServiceRuntime } from '../service-runtime.ts'
import { defineAggregate, defineService } from '../service.ts'
import { migrateOpenStreams } from '../processes/open-streams.ts'

const ORDER = '00000000-0000-4000-8000-000000000001'

type Count = { readonly count: number }
type Claim = Fact<'PayhashClaimed', { orderId: string }>
const counting: Decider<Count, Command<'ClaimPayhash', { orderId: string }>, Claim> = {
  initial: { count: 0 },
  evolve: ({ count }) => ({ count: count + 1 }),
  decide: (_, { data: { orderId } }) => accept({ type: 'PayhashClaimed', v: 1, data: { orderId } }),
}

/** Creates replicas of one service on one store. `stepsOf` maps the number of a stream's facts to its process's steps. */
async function replicas(stepsOf: (count: number) => readonly ProcessStep<Command, 'knock'>[]) {
  const { platform, store } = await createMemoryPlatform()
  await migrateOpenStreams(platform.views)
  const replica = (knock: (count: number) => Promise<null> = () => Promise.resolve(null)) => {
    const stop = new AbortController()
    const own = defineAggregate({
      contract: contractOf('payhash'),
      decider: counting,
      hashed: { version: 1, projections: { 1: (state: Count) => state } },
      process: ({ count }: Count) => stepsOf(count),
      effects: { knock: { calls: [], outcomes: [], act: ({ count }: Count) => knock(count) } },
    })
    const core = createServiceRuntime(defineService('settlement', { aggregates: [own] }), platform, platform, stop.signal)
    const claim = (id: string) =>
      core.decide(
        newCommand({
          id,
          category: 'payhash',
          aggregateId: 'x',
          command: { type: 'ClaimPayhash', data: { orderId: ORDER } },
          at: 0,
          correlation: ORDER,
        }),
      )
    return { ...core, claim, stop: () => stop.abort() }
  }
  return { replica, store }
}

test('a replica that runs the process of a stream uses the facts that a stopped replica appended', async () => {
  const knocks: number[] = []
  const { replica } = await replicas((count) => (count === 2 ? [effect('knock')] : []))
  const survivor = replica(async (count) => {
    knocks.push(count)
    survivor.stop()
    return null
  })
  const dying = replica()
  await survivor.claim('c1')
  dying.stop() // A stopped replica starts no more effects.
  await dying.claim('c2')
  await survivor.advance('payhash', 'x', { isReset: false })
  await waitUntil('the survivor runs the effect', () => knocks.length > 0)
  assert.deepEqual(knocks, [2])
})

test('an effect that another replica has carried out and recorded is not repeated', async () => {
  let knocks = 0
  const { replica } = await replicas((count) => (count === 1 ? [effect('knock')] : []))
  const one = replica(async () => {
    knocks += 1
    await other.claim('c2')
    return null // The effect has no outcome to record, and would run again.
  })
  const other = replica()
  other.stop()
  await one.claim('c1')
  await waitUntil('the effect has run', () => knocks > 0)
  await one.close()
  assert.equal(knocks, 1)
})

test('a job that loads a stream gets the events that other replicas have appended', async () => {
  const { replica } = await replicas(() => [])
  const [one, other] = [replica(), replica()]
  await one.claim('c1')
  await other.claim('c2')
  const { state, revision } = await one.context.load('payhash', 'x')
  assert.deepEqual({ state, revision }, { state: { count: 2 }, revision: 1 })
})
