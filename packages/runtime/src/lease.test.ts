import assert from 'node:assert/strict'
import { Fault } from '@penstock/kernel/result.ts'
import type { Leases } from '@penstock/ports/leases.ts'
import { test } from 'vitest'
import { underLease } from './lease.ts'
import { openLog } from './log.ts'

/** A clock that is as late as its sleepers ask, and leases that answer what the test says. */
function scene(answers: readonly (boolean | 'fault')[]) {
  let now = 0
  let asked = 0
  const released: string[] = []
  const leases: Leases = {
    hold: async () => {
      const answer = answers[Math.min(asked++, answers.length - 1)]
      if (answer === 'fault') throw new Fault('the database does not answer')
      return answer as boolean
    },
    release: async (name) => void released.push(name),
  }
  const clock = {
    now: () => now,
    sleep: async (ms: number) => {
      await Promise.resolve()
      now += ms
    },
  }
  return { context: { leases, instance: 'a', clock, log: openLog('silent') }, released, now: () => now }
}

const untilEnd = (signal: AbortSignal) =>
  new Promise<void>((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve())))

test('works once it has the lease, and gives it back', async () => {
  const { context, released, now } = scene([false, false, true])
  const stop = new AbortController()
  const began: number[] = []
  await underLease(
    context,
    'relay',
    async () => {
      began.push(now())
      stop.abort()
    },
    stop.signal,
  )
  assert.deepEqual(began, [2000])
  assert.deepEqual(released, ['relay'])
})

test('the work ends when another has the lease, and at once', async () => {
  const { context, now } = scene([true, true, false])
  const stop = new AbortController()
  await underLease(
    context,
    'relay',
    async (held) => {
      await untilEnd(held)
      stop.abort()
    },
    stop.signal,
  )
  assert.equal(now(), 2000)
})

test('a database that does not answer ends the work when the lease must have run out', async () => {
  const { context, now } = scene([true, true, 'fault'])
  const stop = new AbortController()
  await underLease(
    context,
    'relay',
    async (held) => {
      await untilEnd(held)
      stop.abort()
    },
    stop.signal,
  )
  assert.equal(now(), 4000)
})

/** Stands still for twenty seconds while the work goes on, and is then told `answer`. @returns when the work was ended */
async function stoodStill(answer: boolean | 'fault'): Promise<number> {
  const { context, now } = scene([true, answer, false])
  const stop = new AbortController()
  const { sleep } = context.clock
  let isFirst = true
  context.clock.sleep = async (ms) => {
    await sleep(isFirst ? 20_000 : ms)
    isFirst = false
  }
  await underLease(
    context,
    'relay',
    async (held) => {
      await untilEnd(held)
      stop.abort()
    },
    stop.signal,
  )
  return now()
}

test('who stood still for long ends what another has taken over, or may have, and else goes on', async () => {
  assert.equal(await stoodStill(false), 20_000)
  assert.equal(await stoodStill('fault'), 20_000)
  assert.equal(await stoodStill(true), 21_000)
})
