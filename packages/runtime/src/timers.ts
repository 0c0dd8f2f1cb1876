import { Fault } from '@penstock/kernel/result.ts'
import { aggregateIdOf, categoryOf } from '@penstock/ports/event-store.ts'
import type { DueTimer, Timers } from '@penstock/ports/timers.ts'
import type { Basics } from './basics.ts'
import { derivedId } from './derived-ids.ts'
import { type CommandMessage, newCommand } from './messages.ts'

export type TimerContext = {
  readonly service: string
  readonly timers: Timers
  readonly basics: Basics
  /** The newest block that this service knows of; undefined for a service that sees no chain. */
  readonly height: () => number | undefined
  readonly decide: (command: CommandMessage) => Promise<unknown>
}

const BATCH = 200
const LOOK_EVERY_MS = 200

/** Sends what is due to the stream that waits for it. A timer goes only after its command was decided. */
export async function fireTimers(context: TimerContext, signal: AbortSignal): Promise<void> {
  const { service, timers, basics } = context
  while (!signal.aborted) {
    const due = await timers.due(service, basics.clock.now(), context.height(), BATCH)
    await Promise.all(due.map((timer) => fire(context, timer)))
    if (due.length < BATCH) await basics.clock.sleep(LOOK_EVERY_MS, signal)
  }
}

async function fire({ timers, basics, decide }: TimerContext, timer: DueTimer): Promise<void> {
  const id = aggregateIdOf(timer.stream)
  try {
    await decide(
      newCommand({
        id: derivedId(timer.stream, timer.step, JSON.stringify(timer.due)),
        category: categoryOf(timer.stream),
        aggregateId: id,
        command: timer.command,
        at: basics.clock.now(),
        correlation: id,
      }),
    )
  } catch (error) {
    basics.log.error({ stream: timer.stream, step: timer.step, reason: String(error) }, 'a deadline could not be carried out')
    if (error instanceof Fault) return // tried again at the next look; a bug would only repeat itself
  }
  await timers.fired(timer)
}
