import { command } from '@penstock/kernel/process.ts'
import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { v1 } from '@penstock/contracts/define.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { test } from 'vitest'
import { z } from 'zod'
import { createEffectRunner } from './processes/effects.ts'
import { CHAIN_START, sealFacts } from './commands/event-codec.ts'
import { followMemoryView } from './views/memory-view.ts'
import { bind, run } from './run.ts'
import { defineAggregate, on, defineService } from './service.ts'

const ORDER = '00000000-0000-4000-8000-000000000001'
const claimShape = { ...v1(z.strictObject({ orderId: z.uuid() })), from: ['order'] }
const payhash = { ...contractOf('payhash'), commands: { ClaimPayhash: claimShape } }
const outpoint = contractOf('outpoint')
const hashed = { version: 1, projections: { 1: (state: unknown) => state } }

type Claim = { readonly by: string | null }
const claimer = <F extends string>(
  fact: F,
  more: { readonly attempt?: number } = {},
): Decider<Claim, Command<string, { orderId: string }>, Fact<F, { orderId: string; attempt?: number }>> => ({
  initial: { by: null },
  evolve: (_, { data }) => ({ by: data.orderId }),
  decide: (state, { data }) => (state.by ? accept() : accept({ type: fact, v: 1, data: { orderId: data.orderId, ...more } })),
})
const claims = defineService('settlement', {
  aggregates: [defineAggregate({ contract: payhash, decider: claimer('PayhashClaimed'), hashed })],
})

test('a fact that cannot be handled stops neither a restart nor the jobs, and is handled after the fix', async () => {
  const world = await createMemoryPlatform()
  let broken = true
  let guardRuns = 0
  const watcher = defineService('channel-watcher', {
    aggregates: [defineAggregate({ contract: outpoint, decider: claimer('OutpointClaimed', { attempt: 1 }), hashed })],
    reactions: [
      on(payhash, 'PayhashClaimed', 'outpoint.ClaimOutpoint', (_, { aggregateId }) => {
        if (aggregateId === 'poison' && broken) throw new Error('the code is wrong')
        return [{ id: aggregateId, data: { orderId: ORDER, attempt: 1 } }]
      }),
    ],
    jobs: [
      {
        name: 'guard',
        run: (_, signal) => {
          guardRuns += 1
          return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
        },
      },
    ],
  })
  const start = () => run([bind(claims, {}), bind(watcher, {})], world.platform)
  const parked = () => world.platform.bus.parked()
  let running = await start()
  const { send } = await world.caller('settlement')
  await send(command('payhash', 'poison', { type: 'ClaimPayhash', data: { orderId: ORDER } }), 'c1')
  await waitUntil('the fact is parked', async () => (await parked()).length === 1)
  await running.close()

  running = await start()
  assert.equal(guardRuns, 2)
  await send(command('payhash', 'sound', { type: 'ClaimPayhash', data: { orderId: ORDER } }), 'c2')
  await waitUntil('another key is handled', async () => (await world.store.read('outpoint-sound')).length === 1)
  broken = false
  for (const key of await parked()) await world.platform.bus.replay(key)
  await waitUntil('the fact is handled', async () => (await world.store.read('outpoint-poison')).length === 1)
  await waitUntil('no key is parked', async () => (await parked()).length === 0)
  await running.close()
})

test.each([
  ['at a normal start', {}],
  ['after a restore', { PENSTOCK_RESTORED: '1' }],
])('the open streams include facts that a crashed process never relayed, %s, even without the bus', async (_, env) => {
  const { platform, store } = await createMemoryPlatform(env)
  const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: ORDER } }
  const meta = { command: 'c', at: 0, correlation: ORDER, trace: 't' }
  await store.append(
    'payhash-aa',
    'none',
    sealFacts({ stream: 'payhash-aa', revision: 0, chain: CHAIN_START }, [{ id: 'e', fact, meta }]).events,
  )
  let open: readonly string[] | undefined
  const service = defineService('settlement', {
    aggregates: claims.aggregates,
    jobs: [
      { name: 'reads', isReadOnly: true, run: async ({ listOpenStreams }) => void (open = await listOpenStreams('payhash')) },
    ],
  })
  const bus = { ...platform.bus, publish: () => Promise.reject(new Fault('the bus is away')) }
  const running = await run([bind(service, {})], { ...platform, bus })
  await waitUntil('the job has run', () => open !== undefined)
  await running.close()
  assert.deepEqual(open, ['aa'])
})

test('a memory view continues after a fault of the store', async () => {
  const { platform, store, caller } = await createMemoryPlatform()
  const running = await run([bind(claims, {})], platform)
  const stop = new AbortController()
  let faults = 0
  const flaky = {
    ...store,
    follow: (options: Parameters<typeof store.follow>[0]) => {
      if (faults++ === 0) throw new Fault('away')
      return store.follow(options)
    },
  }
  const seen: string[] = []
  await followMemoryView(
    { name: 'seen', from: [payhash], apply: ({ aggregateId }) => void seen.push(aggregateId) },
    { ...platform, store: flaky },
    stop.signal,
  )
  await (await caller('settlement')).send(command('payhash', 'aa', { type: 'ClaimPayhash', data: { orderId: ORDER } }), 'c1')
  await waitUntil('the view has the fact', () => seen.includes('aa'))
  assert.ok(faults >= 2)
  stop.abort()
  await running.close()
})

test('an effect that never ends does not delay another kind of effect', async () => {
  const { platform } = await createMemoryPlatform()
  const stop = new AbortController()
  const running = createEffectRunner(platform, stop.signal)
  const never = new Promise<never>(() => {})
  const about = { category: 'settlement', aggregateId: 'o', correlation: 'o' }
  for (let n = 0; n < 500; n++) running.start({ key: `pay ${n}`, service: 's', name: 'pay', about, act: () => never })
  let cancelled = false
  running.start({
    key: 'cancel',
    service: 's',
    name: 'cancel',
    about,
    act: () => {
      cancelled = true
      return Promise.resolve('recorded')
    },
  })
  await waitUntil('the cancel effect runs', () => cancelled)
  stop.abort()
})
