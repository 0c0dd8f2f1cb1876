import assert from 'node:assert/strict'
import { Fault } from '@penstock/kernel/result.ts'
import type { DueTimer } from '@penstock/ports/timers.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { test } from 'vitest'
import { createPaidPriorityScheduler, type PaidPriorityScheduler } from '../commands/paid-first.ts'
import { openLogger } from '../observability/log.ts'
import { fireTimers } from './fire-timers.ts'

const HOUR_MS = 3_600_000

type Platform = Awaited<ReturnType<typeof createMemoryPlatform>>['platform']

/** The context of a process that has set no deadline itself. */
const createContext = ({ timers, ...basePorts }: Platform) => ({
  service: 's',
  timers,
  basePorts,
  paidFirst: createPaidPriorityScheduler(basePorts.clock),
  height: () => undefined,
  timerIndex: { hasPassed: () => false },
})

/** Fires one due timer until its first try has ended. @returns the remaining timers */
async function fireOnce(decide: () => Promise<void>) {
  const { platform } = await createMemoryPlatform()
  const { timers } = platform
  const lapse = { step: 'lapse', due: { at: 1 }, command: { type: 'ClaimPayhash', data: {} } }
  await timers.replace('s', 'payhash-x', [lapse], 0)
  const stop = new AbortController()
  let tried = false
  const tryOnce = async () => {
    tried = true
    await decide()
  }
  const context = createContext(platform)
  const firing = fireTimers({ ...context, decide: tryOnce }, stop.signal)
  await waitUntil('the timer was tried', () => tried)
  stop.abort()
  await firing
  return timers.list(10)
}

test('a timer remains until its command was decided', async () => {
  assert.equal((await fireOnce(() => Promise.reject(new Fault('away')))).length, 1)
  assert.deepEqual(await fireOnce(() => Promise.resolve()), [])
})

test('a failed deadline is retried, even if the wall clock was set back by an hour', async () => {
  const { platform } = await createMemoryPlatform()
  const { timers } = platform
  await timers.replace('s', 'payhash-x', [{ step: 'lapse', due: { at: 1 }, command: { type: 'ClaimPayhash', data: {} } }], 0)
  const stop = new AbortController()
  let [elapsedMs, tries] = [0, 0]
  const clock = {
    now: () => 10 * HOUR_MS + elapsedMs - (tries > 0 ? HOUR_MS : 0),
    monotonicMs: () => elapsedMs,
    sleep: async (ms: number) => {
      elapsedMs += ms
      if (tries > 1 || elapsedMs > HOUR_MS / 2) stop.abort()
    },
  }
  const decide = () => Promise.reject(new Fault(`away at the ${++tries}. time`))
  const log = openLogger('silent')
  const context = createContext({ ...platform, clock, log })
  await fireTimers({ ...context, decide }, stop.signal)
  assert.equal(tries, 2)
  assert.ok(elapsedMs < 5000, `${elapsedMs} ms`)
})

test.each([
  ['settlement', 'ExpireInvoice', false],
  ['quote', 'RequestQuote', true],
] as const)('a deadline of %s with the command %s is unpaid work: %s', async (category, type, isUnpaid) => {
  const { platform } = await createMemoryPlatform()
  const { timers } = platform
  const stop = new AbortController()
  await timers.replace('s', `${category}-x`, [{ step: 'lapse', due: { at: 1 }, command: { type, data: {} } }], 0)
  const events: (string | boolean)[] = []
  const paidFirst: PaidPriorityScheduler = {
    run(isWorkUnpaid, work) {
      events.push(isWorkUnpaid)
      return work()
    },
  }
  const decide = async (command: { readonly type: string }) => {
    events.push(command.type)
    stop.abort()
  }
  await fireTimers({ ...createContext(platform), paidFirst, decide }, stop.signal)
  assert.deepEqual(events, [isUnpaid, type])
})

test('the table is read when an own deadline has passed, and every five seconds for the deadlines of other replicas', async () => {
  const { platform } = await createMemoryPlatform()
  const stop = new AbortController()
  let elapsedMs = 0
  const clock = {
    now: () => elapsedMs,
    monotonicMs: () => elapsedMs,
    sleep: async (ms: number) => {
      elapsedMs += ms
      if (elapsedMs > 12_000) stop.abort()
    },
  }
  const readsAt: number[] = []
  const timers = {
    ...platform.timers,
    due: async () => {
      readsAt.push(elapsedMs)
      return []
    },
  }
  const timerIndex = { hasPassed: (now: number) => now === 7000 }
  const context = { ...createContext({ ...platform, clock, timers }), timerIndex }
  await fireTimers({ ...context, decide: async () => undefined }, stop.signal)
  assert.deepEqual(readsAt, [0, 5000, 7000, 12_000])
})

test('failed deadlines wait for a retry, and do not delay later deadlines', async () => {
  const { platform } = await createMemoryPlatform()
  const stop = new AbortController()
  const open = new Set(Array.from({ length: 401 }, (_, n) => n))
  const timer = (n: number): DueTimer => ({
    service: 's',
    stream: `payhash-${n}`,
    step: 'lapse',
    due: { at: n },
    command: { type: 'ClaimPayhash', data: {} },
  })
  let reads = 0
  const timers = {
    ...platform.timers,
    due: async (_service: string, _now: number, _height: number | undefined, max: number) => {
      reads += 1
      return [...open].slice(0, max).map(timer)
    },
    markFired: async ({ due }: DueTimer) => void ('at' in due && open.delete(due.at)),
  }
  const decided: string[] = []
  const decide = async ({ aggregateId }: { aggregateId: string }) => {
    if (Number(aggregateId) < 400) throw new Fault('away')
    decided.push(aggregateId)
  }
  const context = createContext({ ...platform, timers })
  const firing = fireTimers({ ...context, decide }, stop.signal)
  await waitUntil('the last deadline is decided', () => decided.length === 1)
  assert.ok(reads < 20, `${reads} reads`)
  stop.abort()
  await firing
})
