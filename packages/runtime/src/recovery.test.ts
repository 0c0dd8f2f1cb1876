import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/all.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { DueTimer } from '@penstock/ports/timers.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { until } from '@penstock/testkit/until.ts'
import { test } from 'vitest'
import { effects } from './effects.ts'
import { CHAIN_START, seal } from './event-codec.ts'
import { followMemory } from './memory-view.ts'
import { bind, run } from './run.ts'
import { aggregate, ask, on, service } from './service.ts'
import { fireTimers } from './timers.ts'

const ORDER = '00000000-0000-4000-8000-000000000001'
const payhash = { ...contractOf('payhash'), fromOthers: ['ClaimPayhash'] }
const outpoint = contractOf('outpoint')
const hashed = { version: 1, of: { 1: (state: unknown) => state } }

type Claim = { readonly by: string | null }
const claimer = <F extends string>(
  fact: F,
  more: { readonly attempt?: number } = {},
): Decider<Claim, Command<string, { orderId: string }>, Fact<F, { orderId: string; attempt?: number }>> => ({
  initial: { by: null },
  evolve: (_, { data }) => ({ by: data.orderId }),
  decide: (state, { data }) => (state.by ? accept() : accept({ type: fact, v: 1, data: { orderId: data.orderId, ...more } })),
})
const claims = service('settlement', {
  aggregates: [aggregate({ contract: payhash, decider: claimer('PayhashClaimed'), hashed })],
})

test('a fact that cannot be handled stops neither a restart nor the loops; after the fix it is handled', async () => {
  const world = await memoryWorld()
  let broken = true
  let guardRuns = 0
  const watcher = service('channel-watcher', {
    aggregates: [aggregate({ contract: outpoint, decider: claimer('OutpointClaimed', { attempt: 1 }), hashed })],
    reactions: [
      on(payhash, 'PayhashClaimed', (_, { aggregateId }) => {
        if (aggregateId === 'poison' && broken) throw new Error('the code is wrong')
        return [ask(outpoint, aggregateId, 'ClaimOutpoint', { orderId: ORDER, attempt: 1 })]
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
  await send(ask(payhash, 'poison', 'ClaimPayhash', { orderId: ORDER }), 'c1')
  await until('it is parked', async () => (await parked()).length === 1)
  await running.close()

  running = await start()
  assert.equal(guardRuns, 2)
  await send(ask(payhash, 'sound', 'ClaimPayhash', { orderId: ORDER }), 'c2')
  await until('others go on', async () => (await world.store.read('outpoint-sound')).length === 1)
  broken = false
  for (const key of await parked()) await world.platform.bus.replay(key)
  await until('it is handled', async () => (await world.store.read('outpoint-poison')).length === 1)
  await until('nothing is parked', async () => (await parked()).length === 0)
  await running.close()
})

test.each([
  ['of a market that goes on', {}],
  ['after a restore', { PENSTOCK_RESTORED: '1' }],
])('what a dead process appended and never relayed is open to the first look %s, whatever the bus does', async (_, env) => {
  const { platform, store } = await memoryWorld(env)
  const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: ORDER } }
  const meta = { command: 'c', at: 0, correlation: ORDER, trace: 't' }
  await store.append(
    'payhash-aa',
    'none',
    seal({ stream: 'payhash-aa', revision: 0, chain: CHAIN_START }, [{ id: 'e', fact, meta }]).events,
  )
  let open: readonly string[] | undefined
  const looking = service('settlement', {
    aggregates: claims.aggregates,
    jobs: [{ name: 'looks', looksOnly: true, run: async ({ unfinished }) => void (open = await unfinished('payhash')) }],
  })
  const bus = { ...platform.bus, publish: () => Promise.reject(new Fault('the bus is away')) }
  const running = await run([bind(looking, {})], { ...platform, bus })
  await until('it has looked', () => open !== undefined)
  await running.close()
  assert.deepEqual(open, ['aa'])
})

test('a view in memory goes on after a fault of the store', async () => {
  const { platform, store, caller } = await memoryWorld()
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
  await followMemory(
    { name: 'seen', from: [payhash], apply: ({ aggregateId }) => void seen.push(aggregateId) },
    { ...platform, store: flaky },
    stop.signal,
  )
  await (await caller('settlement')).send(ask(payhash, 'aa', 'ClaimPayhash', { orderId: ORDER }), 'c1')
  await until('it has gone on', () => seen.includes('aa'))
  assert.ok(faults >= 2)
  stop.abort()
  await running.close()
})

test('deadlines that fail wait, and keep nobody behind them waiting', async () => {
  const { platform } = await memoryWorld()
  const stop = new AbortController()
  const open = new Set(Array.from({ length: 401 }, (_, n) => n))
  const timer = (n: number): DueTimer => ({
    service: 's',
    stream: `payhash-${n}`,
    step: 'lapse',
    due: { at: n },
    command: { type: 'ClaimPayhash', data: {} },
  })
  let looks = 0
  const timers = {
    ...platform.timers,
    due: async (_service: string, _now: number, _height: number | undefined, max: number) => {
      looks += 1
      return [...open].slice(0, max).map(timer)
    },
    fired: async ({ due }: DueTimer) => void ('at' in due && open.delete(due.at)),
  }
  const decided: string[] = []
  const decide = async ({ aggregateId }: { aggregateId: string }) => {
    if (Number(aggregateId) < 400) throw new Fault('away')
    decided.push(aggregateId)
  }
  const firing = fireTimers({ service: 's', timers, basics: platform, height: () => undefined, decide }, stop.signal)
  await until('the last one is carried out', () => decided.length === 1)
  assert.ok(looks < 20, `${looks} looks`)
  stop.abort()
  await firing
})

test('an effect that never answers keeps no other kind of effect waiting', async () => {
  const { platform } = await memoryWorld()
  const stop = new AbortController()
  const running = effects(platform, stop.signal)
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
  await until('the money goes back', () => cancelled)
  stop.abort()
})
