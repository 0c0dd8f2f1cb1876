import assert from 'node:assert/strict'
import { Fault } from '@penstock/kernel/result.ts'
import type { Leases } from '@penstock/ports/leases.ts'
import { jumpingWall } from '@penstock/ports/jumping-wall.contract.ts'
import { test } from 'vitest'
import { underLease } from './lease.ts'
import { openLog } from './log.ts'

/** No test takes longer by its clock. */
const LONGEST_MS = 60_000

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
  const late = Promise.withResolvers<void>()
  const clock = {
    now: jumpingWall(() => now),
    monotonicMs: () => now,
    sleep: async (ms: number) => {
      await Promise.resolve()
      now += ms
      if (now > LONGEST_MS) late.resolve()
    },
  }
  return { context: { leases, instance: 'a', clock, log: openLog('silent') }, released, now: () => now, late: late.promise }
}

const untilEnd = (signal: AbortSignal) =>
  new Promise<void>((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve())))

/** Holds the lease once, as long as it may. */
async function workUntilTaken({ context, late }: Pick<ReturnType<typeof scene>, 'context' | 'late'>): Promise<void> {
  const stop = new AbortController()
  const work = async (held: AbortSignal): Promise<void> => {
    // Nothing here waits for the outside: without a limit, work that goes on would leave nobody a turn.
    await Promise.race([untilEnd(held), late])
    assert.ok(held.aborted, 'the work goes on without its lease')
    stop.abort()
  }
  await underLease(context, 'relay', work, stop.signal)
}

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
  const { now, ...rest } = scene([true, true, false])
  await workUntilTaken(rest)
  assert.equal(now(), 2000)
})

test('a database that does not answer ends the work when the lease must have run out', async () => {
  const { now, ...rest } = scene([true, true, 'fault'])
  await workUntilTaken(rest)
  assert.equal(now(), 4000)
})

/** Stands still for twenty seconds while the work goes on, and is then told `answer`. @returns when the work was ended */
async function stoodStill(answer: boolean | 'fault'): Promise<number> {
  const { context, now, late } = scene([true, answer, false])
  const { sleep } = context.clock
  let isFirst = true
  context.clock.sleep = async (ms) => {
    await sleep(isFirst ? 20_000 : ms)
    isFirst = false
  }
  await workUntilTaken({ context, late })
  return now()
}

test('who stood still for long ends what another has taken over, or may have, and else goes on', async () => {
  assert.equal(await stoodStill(false), 20_000)
  assert.equal(await stoodStill('fault'), 20_000)
  assert.equal(await stoodStill(true), 21_000)
})

test('a wall clock that jumps ends no lease, and prolongs none', async () => {
  const { now, ...rest } = scene([true, 'fault', true, 'fault'])
  await workUntilTaken(rest)
  // Held at 2000 for the last time, and asked for in vain until it must have run out.
  assert.equal(now(), 5000)
})
