import { aggregateIdOf, categoryOf } from '@penstock/kernel/stream-name.ts'
import type { DueTimer, Timers } from '@penstock/ports/timers.ts'
import { computeBackoffMs } from '@penstock/kernel/backoff.ts'
import type { BasePorts } from '../base-ports.ts'
import { deriveId } from '../commands/derived-ids.ts'
import { type CommandMessage, newCommand } from '../commands/messages.ts'
import { isUnpaid, type PaidPriorityScheduler } from '../commands/paid-first.ts'
import { timersFired } from '../observability/metrics.ts'
import { deriveTraceId } from '../observability/trace-ids.ts'
import { streamAttributes, withSpan } from '../observability/tracing.ts'
import type { TimerIndex } from './timer-index.ts'

export type TimerContext = {
  readonly service: string
  readonly timers: Timers
  readonly basePorts: BasePorts
  readonly paidFirst: PaidPriorityScheduler
  /** The height of the service's chain tip; undefined for a service without a chain source. */
  readonly height: () => number | undefined
  readonly timerIndex: Pick<TimerIndex, 'hasPassed'>
  readonly decide: (command: CommandMessage) => Promise<unknown>
}

/** The next try of a failed timer. Each further wait is longer, and other timers do not wait. */
type Postponement = { readonly tries: number; readonly notBeforeMs: number }

const BATCH = 200
const CHECK_EVERY_MS = 1000
/** Milliseconds between two reads of the table, which also has the timers of other replicas. */
const READ_EVERY_MS = 5000
const MAX_WAIT_MS = 60_000

/** Decides the commands of due timers at their streams. A timer is removed only after its command was decided. */
export async function fireTimers(context: TimerContext, signal: AbortSignal): Promise<void> {
  const { service, timers, basePorts, timerIndex } = context
  const postponed = new Map<string, Postponement>()
  let nextReadMs = Number.NEGATIVE_INFINITY
  while (!signal.aborted) {
    // Deadlines are stored instants of the wall clock; waits after failures use this process's monotonic clock.
    const [now, monotonicMs, height] = [basePorts.clock.now(), basePorts.clock.monotonicMs(), context.height()]
    if (timerIndex.hasPassed(now, height) || postponed.size > 0 || monotonicMs >= nextReadMs) {
      const limit = BATCH + postponed.size
      const due = await timers.due(service, now, height, limit)
      if (due.length < limit) keepOnly(postponed, new Set(due.map(timerKey)))
      const ready = due.filter((timer) => (postponed.get(timerKey(timer))?.notBeforeMs ?? 0) <= monotonicMs)
      await Promise.all(ready.map((timer) => fireTimer(context, timer, postponed)))
      const isFull = ready.length >= BATCH
      nextReadMs = isFull ? monotonicMs : monotonicMs + READ_EVERY_MS
      if (isFull) continue
    }
    await basePorts.clock.sleep(CHECK_EVERY_MS, signal)
  }
}

/** Removes the entries of timers that were replaced or removed. */
function keepOnly(postponed: Map<string, Postponement>, present: ReadonlySet<string>): void {
  for (const key of postponed.keys()) if (!present.has(key)) postponed.delete(key)
}

const timerKey = ({ stream, step, due }: DueTimer): string => `${stream}\n${step}\n${JSON.stringify(due)}`

async function fireTimer(context: TimerContext, timer: DueTimer, postponed: Map<string, Postponement>): Promise<void> {
  const { service, timers, basePorts } = context
  const name = timerKey(timer)
  try {
    await decideDeadline(context, timer)
    await timers.markFired(timer)
    postponed.delete(name)
    timersFired.inc({ component: service, outcome: 'done' })
  } catch (error) {
    const tries = (postponed.get(name)?.tries ?? 0) + 1
    postponed.set(name, {
      tries,
      notBeforeMs: basePorts.clock.monotonicMs() + computeBackoffMs(tries, basePorts.ids, 500, MAX_WAIT_MS),
    })
    timersFired.inc({ component: service, outcome: 'failed' })
    basePorts.log.warn({ stream: timer.stream, step: timer.step, tries, reason: String(error) }, 'a deadline failed; retrying')
  }
}

function decideDeadline(
  { service, basePorts, paidFirst, decide }: TimerContext,
  { stream, step, due, command }: DueTimer,
): Promise<unknown> {
  const id = aggregateIdOf(stream)
  const category = categoryOf(stream)
  const decideInSpan = (): Promise<unknown> =>
    withSpan(
      basePorts.tracing,
      () => ({ name: `deadline ${step}`, trace: deriveTraceId(id), attributes: streamAttributes(service, category, id, id) }),
      () =>
        decide(
          newCommand({
            id: deriveId(stream, step, JSON.stringify(due)),
            category,
            aggregateId: id,
            command,
            at: basePorts.clock.now(),
            correlation: id,
          }),
        ),
    )
  return paidFirst.run(isUnpaid(category, command.type), decideInSpan)
}
