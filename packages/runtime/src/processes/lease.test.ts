import assert from 'node:assert/strict'
import { Fault } from '@penstock/kernel/result.ts'
import type { Leases } from '@penstock/ports/leases.ts'
import { createJumpingWallClock } from '@penstock/ports/jumping-wall-clock.fixture.ts'
import { test } from 'vitest'
import { runUnderLease } from './lease.ts'
import { openLogger } from '../observability/log.ts'

/** The time limit of a test by its own clock. */
const LONGEST_MS = 60_000

/** Creates a clock that advances with each sleep, and leases that return the answers of the test. */
function createContext(answers: readonly (boolean | 'fault')[]) {
  let now = 0
  let calls = 0
  const released: string[] = []
  const leases: Leases = {
    acquire: async () => {
      const answer = answers[Math.min(calls++, answers.length - 1)]
      if (answer === 'fault') throw new Fault('the database does not answer')
      return answer as boolean
    },
    release: async (name) => void released.push(name),
  }
  const late = Promise.withResolvers<void>()
  const clock = {
    now: createJumpingWallClock(() => now),
    monotonicMs: () => now,
    sleep: async (ms: number) => {
      await Promise.resolve()
      now += ms
      if (now > LONGEST_MS) late.resolve()
    },
  }
  return { context: { leases, instance: 'a', clock, log: openLogger('silent') }, released, now: () => now, late: late.promise }
}

const untilEnd = (signal: AbortSignal) =>
  new Promise<void>((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve())))

/** Runs work that lasts until the lease ends. */
async function workUntilTaken({ context, late }: Pick<ReturnType<typeof createContext>, 'context' | 'late'>): Promise<void> {
  const stop = new AbortController()
  const work = async (held: AbortSignal): Promise<void> => {
    // All sleeps resolve immediately, so work without an end would block the event loop without this limit.
    await Promise.race([untilEnd(held), late])
    assert.ok(held.aborted, 'the work continues without its lease')
    stop.abort()
  }
  await runUnderLease(context, 'relay', work, stop.signal)
}

test('the work starts when the lease is acquired, and the lease is released afterwards', async () => {
  const { context, released, now } = createContext([false, false, true])
  const stop = new AbortController()
  const startTimes: number[] = []
  await runUnderLease(
    context,
    'relay',
    async () => {
      startTimes.push(now())
      stop.abort()
    },
    stop.signal,
  )
  assert.deepEqual(startTimes, [2000])
  assert.deepEqual(released, ['relay'])
})

test('the work ends immediately when another process has the lease', async () => {
  const { now, ...rest } = createContext([true, true, false])
  await workUntilTaken(rest)
  assert.equal(now(), 2000)
})

test('without an answer of the database the work ends when the lease must have expired', async () => {
  const { now, ...rest } = createContext([true, true, 'fault'])
  await workUntilTaken(rest)
  assert.equal(now(), 4000)
})

/** Pauses the holder for twenty seconds, and then returns `answer` for its renewal. @returns the time at which the work ended */
async function endAfterPause(answer: boolean | 'fault'): Promise<number> {
  const { context, now, late } = createContext([true, answer, false])
  const { sleep } = context.clock
  let isFirst = true
  context.clock.sleep = async (ms) => {
    await sleep(isFirst ? 20_000 : ms)
    isFirst = false
  }
  await workUntilTaken({ context, late })
  return now()
}

test('after a pause the holder ends its work if another process has or may have the lease, and otherwise continues', async () => {
  assert.equal(await endAfterPause(false), 20_000)
  assert.equal(await endAfterPause('fault'), 20_000)
  assert.equal(await endAfterPause(true), 21_000)
})

test('a jump of the wall clock neither ends nor extends a lease', async () => {
  const { now, ...rest } = createContext([true, 'fault', true, 'fault'])
  await workUntilTaken(rest)
  // The last renewal was at 2000, so the lease must have expired at 5000.
  assert.equal(now(), 5000)
})

test('the leases of a process are renewed together', async () => {
  const { context } = createContext([true])
  const renewals: (() => void)[] = []
  const clock = { ...context.clock, sleep: () => new Promise<void>((resolve) => void renewals.push(resolve)) }
  const acquired: string[] = []
  const leases: Leases = { ...context.leases, acquire: async (name) => acquired.push(name) > 0 }
  const stop = new AbortController()
  const works = ['a', 'b'].map((name) => runUnderLease({ ...context, clock, leases }, name, untilEnd, stop.signal))
  await new Promise(setImmediate)
  assert.equal(renewals.length, 1)
  renewals[0]?.()
  await new Promise(setImmediate)
  assert.deepEqual(acquired, ['a', 'b', 'a', 'b'])
  stop.abort()
  await Promise.all(works)
})
