/** An instant in milliseconds since 1970, or a block height. */
export type TimerDue = { readonly at: number } | { readonly height: number }

/** One deadline of a stream. When it is due, the stream gets `command`. The stream ignores a stale command. */
export type Timer = {
  readonly step: string
  readonly due: TimerDue
  readonly command: { readonly type: string; readonly data: object }
}

export type DueTimer = Timer & { readonly service: string; readonly stream: string }

/**
 * An index of deadlines. The streams are the source of truth, so the index can be dropped and rebuilt from them.
 * Implementations are durable: after a restart, deadlines are met even before every open stream is read.
 */
export interface Timers {
  /**
   * Replaces the stream's timers by those of this revision. If two calls come out of order, the timers of the newer revision
   * stay. Some of the older timers may stay, too; the stream ignores their commands.
   * @param previousSteps the steps of the stored timers, if the caller knows them
   */
  replace(
    service: string,
    stream: string,
    timers: readonly Timer[],
    revision: number,
    previousSteps?: readonly string[],
  ): Promise<void>
  /** The due timers of a service, oldest first. `height` is undefined for a service that sees no chain. */
  due(service: string, now: number, height: number | undefined, max: number): Promise<readonly DueTimer[]>
  /** Removes a timer after its command was sent. A timer that was replaced meanwhile stays. */
  markFired(timer: DueTimer): Promise<void>
  /** All timers, soonest first. */
  list(max: number): Promise<readonly DueTimer[]>
}
