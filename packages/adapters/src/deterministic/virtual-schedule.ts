import type { Clock } from '@penstock/ports/clock.ts'
import { createActionQueue, type ScheduledAction } from './action-queue.ts'
import { createForkCache, type Prng, createPrng } from './prng.ts'
import { createExecutionTrace } from './execution-trace.ts'

export type VirtualScheduleOptions = {
  /** Milliseconds since 1970 at which virtual time begins. */
  readonly startAt?: number
  /** Maximum number of steps. A longer run ends with an error, because it probably makes no progress. */
  readonly stepLimit?: number
}

export type ScheduleRunOptions = {
  /** Called before every step; true ends the run. */
  readonly until?: () => boolean
  /** The last instant at which actions run. A run that ends by this limit leaves the clock at this instant. */
  readonly untilMs?: number
  readonly maxSteps?: number
  /** Checks invariants after every step, once its effects are complete. An error ends the run. */
  readonly afterStep?: () => void
}

/** 'idle': no action is pending. */
export type RunEndReason = 'until' | 'time' | 'steps' | 'idle'

/**
 * The virtual time of a simulation, in ms. Actions run one after the other, and only if `later` scheduled them. A seed always
 * gives the same run, because the seed orders the actions of one instant.
 */
export type VirtualSchedule = {
  readonly seed: string
  readonly random: Prng
  readonly now: () => number
  /** Runs an action after a delay in ms. The trace records `label`. @returns a function that cancels the action */
  readonly later: (delayMs: number, action: () => void, label?: string) => () => void
  /** The clock of everything outside the simulated processes: servers, users, the network. */
  readonly clock: Clock
  readonly run: (options?: ScheduleRunOptions) => Promise<RunEndReason>
  readonly steps: () => number
  /** The hash of all steps so far. Two runs took the same steps exactly if their hashes are equal. */
  readonly traceHash: () => string
  readonly recentSteps: () => readonly string[]
}

// Taken before the globals are banned. A run uses no other real timer.
const realImmediate = setImmediate
const START_AT = Date.UTC(2026, 0, 1)

/** Runs the reactions to settled promises until all of them wait for a virtual action. */
const settlePromises = (): Promise<void> => new Promise((resolve) => void realImmediate(resolve))

export function createVirtualSchedule(seed: string | number, options: VirtualScheduleOptions = {}): VirtualSchedule {
  const { startAt = START_AT, stepLimit = Infinity } = options
  const prng = createPrng(String(seed))
  const actions = createActionQueue()
  const executionTrace = createExecutionTrace()
  // Each label draws its ties from a generator of its own, so an extra action does not reorder actions with other labels.
  const ties = createForkCache(prng.fork('ties'))
  let [now, sequence, steps] = [startAt, 0, 0]
  let isRunning = false

  const later = (delayMs: number, action: () => void, label = 'action'): (() => void) => {
    const at = Math.ceil(now + Math.max(0, delayMs))
    const entry: ScheduledAction = { at, tie: ties(label).fraction(), sequence: sequence++, label, action, isCancelled: false }
    actions.add(entry)
    return () => void (entry.isCancelled = true)
  }

  async function run(limits: ScheduleRunOptions = {}): Promise<RunEndReason> {
    if (isRunning) throw new Error('the schedule is running already; concurrent runs would not be deterministic')
    isRunning = true
    try {
      return await runToEnd(limits)
    } finally {
      isRunning = false
    }
  }

  async function runToEnd(limits: ScheduleRunOptions): Promise<RunEndReason> {
    const { until, untilMs = Infinity, maxSteps = Infinity, afterStep } = limits
    await settlePromises() // reactions from before the run
    for (let left = maxSteps; ; left--) {
      if (until?.()) return 'until'
      if (left <= 0) return 'steps'
      const next = actions.peek()
      if (next && next.at <= untilMs) step(next)
      else if (untilMs === Infinity) return 'idle'
      else {
        now = Math.max(now, untilMs)
        return 'time'
      }
      await settlePromises()
      afterStep?.()
    }
  }

  function step({ at, label, action }: ScheduledAction): void {
    if (steps >= stepLimit) throw new Error(`${stepLimit} steps, and no end: ${executionTrace.recent().slice(-3).join(', ')}`)
    actions.take()
    now = Math.max(now, at)
    steps++
    executionTrace.record(now, label)
    action()
  }

  return {
    seed: String(seed),
    random: prng,
    now: () => now,
    later,
    clock: createVirtualClock({ now: () => now, monotonicMs: () => now - startAt }, later),
    run,
    steps: () => steps,
    traceHash: executionTrace.hash,
    recentSteps: executionTrace.recent,
  }
}

/** @param later schedules the end of a sleep */
export function createVirtualClock(
  { now, monotonicMs }: Pick<Clock, 'now' | 'monotonicMs'>,
  later: VirtualSchedule['later'],
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
