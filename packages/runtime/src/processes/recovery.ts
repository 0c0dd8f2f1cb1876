import type { Clock } from '@penstock/ports/clock.ts'
import { aggregateIdOf, categoryOf } from '@penstock/kernel/stream-name.ts'
import type { ProcessRunner } from './run-process.ts'
import type { BasePorts } from '../base-ports.ts'
import type { HandledCommands } from './handled-commands.ts'
import type { OpenStreams } from './open-streams.ts'

export type RecoveryContext = {
  readonly service: string
  readonly categories: readonly string[]
  readonly openStreams: OpenStreams
  readonly handledCommands?: HandledCommands | undefined
  readonly basePorts: BasePorts
  readonly runProcess: ProcessRunner
}

const CHECK_EVERY_MS = 5000
/** Milliseconds before recovery runs the process of a grown stream, because another replica may be running that process. */
const BEHIND_AFTER_MS = 10_000
/** Milliseconds between two repetitions of all pending commands and effects, because the bus may have lost a message. */
const RESEND_EVERY_MS = 10 * 60_000
/**
 * Milliseconds between two resets of all deadlines. The tables of timers may be restored from an older copy than the events.
 * Without a reset, a stream whose timer is missing would wait until the next restart.
 */
const RESET_TIMERS_EVERY_MS = 60 * 60_000
/**
 * Milliseconds before every replica runs an effect that a stream waits for: the first replica may have paused, or its call
 * may hang.
 * It exceeds the longest timeout of an effect, the timeout of a payout, so that no payout runs twice at once. An effect
 * checks first whether it is done, so its repetition is cheap. Repeated messages would delay all other messages.
 */
const HANGING_AFTER_MS = 3 * 60_000
/** Milliseconds for which the handling of a command stays recorded. A stream that is open for longer sends the command again. */
const HANDLED_KEPT_MS = 60 * 60_000
const CONCURRENCY = 16
/** Streams whose handled commands are read together. Fewer than the cached streams, so that none is forgotten before its turn. */
const GROUP_SIZE = 256
const MAX_BATCH = 200

/**
 * Runs the processes of open streams again. A start runs all of them, which reconciles open intents with the outside world.
 * Later this function runs the processes of streams that fell behind or whose commands were handled, and once an hour the
 * processes of all open streams.
 */
export async function recoverStreams(context: RecoveryContext, signal: AbortSignal): Promise<void> {
  const { categories, openStreams, handledCommands, basePorts } = context
  const { clock } = basePorts
  await recoverEach(context, await openStreams.listAll(categories, clock.now()), true, signal)
  const [isHangingDue, isResendDue] = [createInterval(HANGING_AFTER_MS, clock), createInterval(RESEND_EVERY_MS, clock)]
  const areDeadlinesDue = createInterval(RESET_TIMERS_EVERY_MS, clock)
  while (!signal.aborted) {
    await clock.sleep(CHECK_EVERY_MS, signal)
    if (signal.aborted) return
    await openStreams.flush(clock.now())
    // Ends the streams that waited only for their commands to be handled.
    const handled = await handledCommands?.flush(clock.now())
    await recoverEach(context, handled ?? [], false, signal)
    await recoverEach(context, await openStreams.listBehind(clock.now() - BEHIND_AFTER_MS, MAX_BATCH), false, signal)
    if (isHangingDue())
      await recoverEach(
        context,
        await openStreams.listPending(categories, 'effect', clock.now() - HANGING_AFTER_MS),
        false,
        signal,
      )
    if (areDeadlinesDue()) await recoverEach(context, await openStreams.listAll(categories, clock.now()), true, signal)
    // A process that waits only for a deadline has sent no message that could be lost.
    else if (isResendDue()) {
      await handledCommands?.prune(clock.now() - HANDLED_KEPT_MS)
      await recoverEach(context, await openStreams.listPending(categories, 'command', clock.now()), true, signal)
    }
  }
}

/** Returns a function that is true once per interval. */
function createInterval(ms: number, clock: Clock): () => boolean {
  let since = clock.monotonicMs()
  return () => {
    if (clock.monotonicMs() - since < ms) return false
    since = clock.monotonicMs()
    return true
  }
}

async function recoverEach(
  context: RecoveryContext,
  streams: readonly string[],
  isReset: boolean,
  signal: AbortSignal,
): Promise<void> {
  for (let from = 0; from < streams.length && !signal.aborted; from += GROUP_SIZE) {
    const waiting = streams.slice(from, from + GROUP_SIZE)
    await context.handledCommands?.load(waiting)
    const worker = async (): Promise<void> => {
      for (let stream = waiting.pop(); stream !== undefined && !signal.aborted; stream = waiting.pop())
        await recoverOne(context, stream, isReset)
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  }
}

async function recoverOne(
  { basePorts, runProcess, openStreams }: RecoveryContext,
  stream: string,
  isReset: boolean,
): Promise<void> {
  try {
    await runProcess(categoryOf(stream), aggregateIdOf(stream), { isReset })
  } catch (error) {
    basePorts.log.error({ stream, reason: String(error) }, 'running the process of an open stream failed; retrying')
    await openStreams.postpone(stream, basePorts.clock.now())
  }
}
