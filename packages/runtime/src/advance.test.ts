import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/all.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'
import type { Command } from '@penstock/kernel/message.ts'
import { effect, type Next, tell } from '@penstock/kernel/process.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { BusMessage } from '@penstock/ports/bus.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { test } from 'vitest'
import { advance } from './advance.ts'
import { effects } from './effects.ts'
import { CHAIN_START } from './event-codec.ts'
import { aggregate } from './service.ts'
import { timerIndex } from './timer-index.ts'
import { migrateUnfinished, unfinished } from './unfinished.ts'

const payhash = contractOf('payhash')
const decider: Decider<object, Command, never> = { initial: {}, evolve: (state) => state, decide: () => accept() }

const RESTS_MS = 70

/** One stream whose process asks for `wishes()`, and an effect. */
async function asking(wishes: () => readonly Next<Command, 'knock'>[], knock: () => Promise<null>) {
  const { platform } = await memoryWorld()
  await migrateUnfinished(platform.views)
  const sent: BusMessage[] = []
  const stop = new AbortController()
  const rests: unknown[] = []
  const all = effects(platform, stop.signal)
  const running: typeof all = {
    start(one) {
      rests.push(one.restMs)
      all.start(one)
    },
    close: () => all.close(),
  }
  const own = aggregate({
    contract: payhash,
    decider,
    hashed: { version: 1, of: { 1: (state) => state } },
    process: wishes,
    effects: { knock },
    restsMs: { knock: RESTS_MS },
  })
  const loaded = { state: {}, revision: 0, chain: CHAIN_START, handled: new Map<string, number>() }
  const run = advance({
    service: 'settlement',
    aggregates: new Map([['payhash', own]]),
    streams: {
      load: () => Promise.resolve(loaded),
      fresh: () => Promise.resolve(loaded),
      keep: () => undefined,
      forget: () => undefined,
    },
    bus: { ...platform.bus, publish: async (_, messages) => void sent.push(...messages) },
    timers: timerIndex(platform.timers, 'settlement'),
    unfinished: unfinished(platform.views, 'settlement'),
    effects: running,
    ports: platform,
    signal: stop.signal,
    decide: () => Promise.resolve({ outcome: 'accepted', revision: 0, news: true }),
  })
  return { run: () => run('payhash', 'x'), running, sent, stop, rests }
}

test('a question is sent once, and once more when it is asked under another number', async () => {
  let attempt = 1
  const claim = { type: 'ClaimOutpoint', data: { orderId: 'o', attempt: 1 } }
  const { run, sent } = await asking(
    () => [tell('outpoint', 'o', 'claim', claim, attempt)],
    () => Promise.resolve(null),
  )
  await run()
  await run()
  assert.equal(sent.length, 1)
  attempt = 2
  await run()
  assert.equal(new Set(sent.map(({ id }) => id)).size, 2)
})

test('questions of one stream are sent once each, also when one of them is answered', async () => {
  let left = ['a', 'b', 'c']
  const claim = { type: 'ClaimOutpoint', data: { orderId: 'o', attempt: 1 } }
  const { run, sent } = await asking(
    () => left.map((name) => tell('outpoint', name, `claim ${name}`, claim)),
    () => Promise.resolve(null),
  )
  await run()
  left = ['a', 'c', 'd']
  await run()
  left = ['d']
  await run()
  assert.deepEqual(
    sent.map(({ key }) => key),
    ['a', 'b', 'c', 'd'],
  )
})

test('an effect that failed is not tried again once the state asks for it no more', async () => {
  let isAsked = true
  let knocks = 0
  const { run, running, stop } = await asking(
    () => (isAsked ? [effect('knock')] : []),
    () => {
      knocks += 1
      isAsked = false
      if (knocks > 1) stop.abort()
      return Promise.reject(new Fault('nobody opens'))
    },
  )
  await run()
  await running.close()
  assert.equal(knocks, 1)
})

test('an effect rests as its aggregate says', async () => {
  const { run, running, stop, rests } = await asking(
    () => [effect('knock')],
    () => {
      stop.abort()
      return Promise.resolve(null)
    },
  )
  await run()
  await running.close()
  assert.deepEqual(rests, [RESTS_MS])
})
