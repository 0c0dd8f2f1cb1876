import { aggregateIdOf, categoryOf } from '@penstock/ports/event-store.ts'
import type { DueTimer, Timers } from '@penstock/ports/timers.ts'
import { backoff } from './backoff.ts'
import type { Basics } from './basics.ts'
import { derivedId } from './derived-ids.ts'
import { type CommandMessage, newCommand } from './messages.ts'
import { timersFired } from './metrics.ts'
import { traceOf } from './trace.ts'
import { streamAttributes, traced } from './tracing.ts'

export type TimerContext = {
  readonly service: string
  readonly timers: Timers
  readonly basics: Basics
  /** The newest block that this service knows of; undefined for a service that sees no chain. */
  readonly height: () => number | undefined
  readonly decide: (command: CommandMessage) => Promise<unknown>
}

/** A timer that failed waits longer each time, and nobody behind it waits for it. */
type SetBack = { readonly tries: number; readonly notBeforeMs: number }

const BATCH = 200
const LOOK_EVERY_MS = 200
const LONGEST_WAIT_MS = 60_000

/** Sends what is due to the stream that waits for it. A timer goes only after its command was decided. */
export async function fireTimers(context: TimerContext, signal: AbortSignal): Promise<void> {
  const { service, timers, basics } = context
  const setBack = new Map<string, SetBack>()
  while (!signal.aborted) {
    // Deadlines are stored instants; how long a failed one waits is this process's own affair.
    const [now, monotonicMs] = [basics.clock.now(), basics.clock.monotonicMs()]
    const due = await timers.due(service, now, context.height(), BATCH + setBack.size)
    const ready = due.filter((timer) => (setBack.get(nameOf(timer))?.notBeforeMs ?? 0) <= monotonicMs)
    await Promise.all(ready.map((timer) => fire(context, timer, setBack)))
    if (ready.length < BATCH) await basics.clock.sleep(LOOK_EVERY_MS, signal)
  }
}

const nameOf = ({ stream, step, due }: DueTimer): string => `${stream}\n${step}\n${JSON.stringify(due)}`

async function fire(context: TimerContext, timer: DueTimer, setBack: Map<string, SetBack>): Promise<void> {
  const { service, timers, basics } = context
  const name = nameOf(timer)
  try {
    await sendDue(context, timer)
    await timers.fired(timer)
    setBack.delete(name)
    timersFired.inc({ component: service, outcome: 'done' })
  } catch (error) {
    const tries = (setBack.get(name)?.tries ?? 0) + 1
    setBack.set(name, { tries, notBeforeMs: basics.clock.monotonicMs() + backoff(tries, 500, LONGEST_WAIT_MS) })
    timersFired.inc({ component: service, outcome: 'failed' })
    basics.log.warn(
      { stream: timer.stream, step: timer.step, tries, reason: String(error) },
      'a deadline could not be carried out; it is tried again',
    )
  }
}

function sendDue({ service, basics, decide }: TimerContext, { stream, step, due, command }: DueTimer): Promise<unknown> {
  const id = aggregateIdOf(stream)
  const category = categoryOf(stream)
  return traced(
    basics.tracing,
    () => ({ name: `deadline ${step}`, trace: traceOf(id), attributes: streamAttributes(service, category, id, id) }),
    () =>
      decide(
        newCommand({
          id: derivedId(stream, step, JSON.stringify(due)),
          category,
          aggregateId: id,
          command,
          at: basics.clock.now(),
          correlation: id,
        }),
      ),
  )
}
