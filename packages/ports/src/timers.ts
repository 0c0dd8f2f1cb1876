/** An instant in milliseconds since 1970, or a block height. */
export type Due = { readonly at: number } | { readonly height: number }

/** One deadline of a stream. `command` is what the stream is told when it is due; the stream ignores a stale one. */
export type Timer = {
  readonly step: string
  readonly due: Due
  readonly command: { readonly type: string; readonly data: object }
}

export type DueTimer = Timer & { readonly service: string; readonly stream: string }

/**
 * An index of deadlines, never their truth: it can be thrown away and made again from the streams.
 * Implementations are durable, so that a restart need not read every open stream before it is on time.
 */
export interface Timers {
  /**
   * What the stream waits for at this revision, instead of what it waited for before. Where two come out of turn, the
   * timers of the newer revision stay; some of the older may stay beside them, which the stream ignores.
   */
  replace(service: string, stream: string, timers: readonly Timer[], revision: number): Promise<void>
  /** Those of a service that are due, oldest first. `height` is left out by a service that sees no chain. */
  due(service: string, now: number, height: number | undefined, max: number): Promise<readonly DueTimer[]>
  /** After its command was sent. A timer that was replaced meanwhile stays. */
  fired(timer: DueTimer): Promise<void>
  /** All of them, soonest first; for operators and the watchdog. */
  list(max: number): Promise<readonly DueTimer[]>
}
