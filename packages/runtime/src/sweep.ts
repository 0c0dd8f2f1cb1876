import type { Clock } from '@penstock/ports/clock.ts'
import { aggregateIdOf, categoryOf } from '@penstock/ports/event-store.ts'
import type { Advance } from './advance.ts'
import type { Basics } from './basics.ts'
import type { Unfinished } from './unfinished.ts'

export type SweepContext = {
  readonly service: string
  readonly categories: readonly string[]
  readonly unfinished: Unfinished
  readonly basics: Basics
  readonly advance: Advance
}

const LOOK_EVERY_MS = 1000
/** How long a stream may have grown without its process having been seen to run: another replica may be at it. */
const BEHIND_MS = 10_000
/** How often everything unfinished is asked anew, should a message have been lost by a transport. */
const AFRESH_MS = 10 * 60_000
/**
 * How often the deadlines of every open stream are set anew. Timers stand in tables that can be restored from an older copy
 * than the events; whoever waits for one that is not there would wait until the next restart.
 */
const DEADLINES_MS = 60 * 60_000
/**
 * How long a stream may wait for an effect before every replica carries it out: the one that began it may stand still, or
 * a call of its may hang. Longer than the longest of them takes by its own limits, a payout's, which would else be run
 * beside itself. An effect looks first, so that this costs a look; messages sent again would be in everybody's way.
 */
const HANGS_MS = 3 * 60_000
const SIDE_BY_SIDE = 16
const AT_ONCE = 200

/**
 * Recovery is the normal path: at start the process of every unfinished stream runs once, which reconciles open intents
 * with the outside world; afterwards those that fell behind, and once an hour every one.
 */
export async function sweep(context: SweepContext, signal: AbortSignal): Promise<void> {
  const { categories, unfinished, basics } = context
  const { clock } = basics
  await each(context, await unfinished.all(categories, clock.now()), true, signal)
  const [isHangingDue, isAfreshDue] = [every(HANGS_MS, clock), every(AFRESH_MS, clock)]
  const areDeadlinesDue = every(DEADLINES_MS, clock)
  while (!signal.aborted) {
    await clock.sleep(LOOK_EVERY_MS, signal)
    if (signal.aborted) return
    await unfinished.flush(clock.now())
    await each(context, await unfinished.behind(clock.now() - BEHIND_MS, AT_ONCE), false, signal)
    if (isHangingDue()) await each(context, await unfinished.asking(categories, 'effect', clock.now() - HANGS_MS), false, signal)
    if (areDeadlinesDue()) await each(context, await unfinished.all(categories, clock.now()), true, signal)
    // Who only waits for a deadline has asked for no message that could have been lost.
    else if (isAfreshDue()) await each(context, await unfinished.asking(categories, 'command', clock.now()), true, signal)
  }
}

/** Whether so long has passed since it last said so. */
function every(ms: number, clock: Clock): () => boolean {
  let since = clock.monotonicMs()
  return () => {
    if (clock.monotonicMs() - since < ms) return false
    since = clock.monotonicMs()
    return true
  }
}

async function each(context: SweepContext, streams: readonly string[], afresh: boolean, signal: AbortSignal): Promise<void> {
  const waiting = [...streams]
  const worker = async (): Promise<void> => {
    for (let stream = waiting.pop(); stream !== undefined && !signal.aborted; stream = waiting.pop())
      await one(context, stream, afresh)
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker))
}

async function one({ basics, advance, unfinished }: SweepContext, stream: string, afresh: boolean): Promise<void> {
  try {
    await advance(categoryOf(stream), aggregateIdOf(stream), { afresh })
  } catch (error) {
    basics.log.error({ stream, reason: String(error) }, 'an unfinished stream could not be advanced; it is tried again')
    await unfinished.postpone(stream, basics.clock.now())
  }
}
