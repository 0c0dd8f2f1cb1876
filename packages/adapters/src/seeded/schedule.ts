import type { Clock } from '@penstock/ports/clock.ts'
import { queue, type Waiting } from './queue.ts'
import { forks, type Random, random } from './random.ts'
import { trace } from './trace.ts'

export type ScheduleOptions = {
  /** Milliseconds since 1970 at which virtual time begins. */
  readonly startAt?: number
  /** A world that takes more is not alive, whatever its clock shows: its run ends with an error. */
  readonly mostSteps?: number
}

export type RunOptions = {
  /** Looked at before every step; true ends the run. */
  readonly until?: () => boolean
  /** Nothing later than this instant is run; where the run ends here, the clock shows it. */
  readonly untilMs?: number
  readonly maxSteps?: number
  /** After every step, once all that it set off has come to rest: for invariants. What it throws ends the run. */
  readonly afterStep?: () => void
}

/** 'idle': nothing waits any more. */
export type RunEnd = 'until' | 'time' | 'steps' | 'idle'

/**
 * A world's own time. Nothing in it happens but what somebody asked for with `later`, one action after the other; among
 * those of one instant the seed chooses. A seed therefore gives one course of events, for ever.
 */
export type Schedule = {
  readonly seed: string
  readonly random: Random
  readonly now: () => number
  /** Runs an action after so many milliseconds of virtual time. `label` goes into the trace. @returns what cancels it */
  readonly later: (delayMs: number, action: () => void, label?: string) => () => void
  /** Virtual time for whoever lives outside the simulated processes: servers, people, the network. */
  readonly clock: Clock
  readonly run: (options?: RunOptions) => Promise<RunEnd>
  readonly steps: () => number
  /** The hash of all that ran so far: two runs of a seed are the same run exactly if it is the same. */
  readonly trace: () => string
  readonly recent: () => readonly string[]
}

// Taken while the globals are the real ones: it is the only thing of the real world that a run waits for.
const realImmediate = setImmediate
const START_AT = Date.UTC(2026, 0, 1)

/** Lets everything that is settled by now run to its next wait. */
const quiet = (): Promise<void> => new Promise((resolve) => void realImmediate(resolve))

export function schedule(seed: string | number, { startAt = START_AT, mostSteps = Infinity }: ScheduleOptions = {}): Schedule {
  const draws = random(String(seed))
  const waiting = queue()
  const ran = trace()
  // Each label draws for itself, so that an action more of one kind leaves the order of all others alone.
  const ties = forks(draws.fork('ties'))
  let [now, number, steps] = [startAt, 0, 0]
  let isRunning = false

  const later = (delayMs: number, action: () => void, label = 'action'): (() => void) => {
    const at = Math.ceil(now + Math.max(0, delayMs))
    const entry: Waiting = { at, tie: ties(label).fraction(), number: number++, label, action, cancelled: false }
    waiting.add(entry)
    return () => void (entry.cancelled = true)
  }

  async function run(options: RunOptions = {}): Promise<RunEnd> {
    if (isRunning) throw new Error('this world is running already: two who drive it would make its course a matter of chance')
    isRunning = true
    try {
      return await runOn(options)
    } finally {
      isRunning = false
    }
  }

  async function runOn({ until, untilMs = Infinity, maxSteps = Infinity, afterStep }: RunOptions): Promise<RunEnd> {
    await quiet() // what was set off before the run
    for (let left = maxSteps; ; left--) {
      if (until?.()) return 'until'
      if (left <= 0) return 'steps'
      const next = waiting.peek()
      if (next && next.at <= untilMs) step(next)
      else if (untilMs === Infinity) return 'idle'
      else {
        now = Math.max(now, untilMs)
        return 'time'
      }
      await quiet()
      afterStep?.()
    }
  }

  function step({ at, label, action }: Waiting): void {
    if (steps >= mostSteps) throw new Error(`${mostSteps} steps, and no end: ${ran.recent().slice(-3).join(', ')}`)
    waiting.take()
    now = Math.max(now, at)
    steps++
    ran.note(now, label)
    action()
  }

  return {
    seed: String(seed),
    random: draws,
    now: () => now,
    later,
    clock: virtualClock({ now: () => now, monotonicMs: () => now - startAt }, later),
    run,
    steps: () => steps,
    trace: ran.hash,
    recent: ran.recent,
  }
}

/** @param later how its sleepers are woken */
export function virtualClock(
  { now, monotonicMs }: Pick<Clock, 'now' | 'monotonicMs'>,
  later: Schedule['later'],
  label = 'wake',
): Clock {
  return {
    now,
    monotonicMs,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve()
        const cancel = later(ms, end, label)
        signal?.addEventListener('abort', end, { once: true })
        function end(): void {
          cancel()
          signal?.removeEventListener('abort', end)
          resolve()
        }
      }),
  }
}
