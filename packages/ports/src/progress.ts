import type { Kysely } from 'kysely'

/** The last event of a stream that a consumer has dealt with. */
export type Reached = { readonly stream: string; readonly revision: number; readonly position: bigint }

/**
 * How far consumers are. Streams reach a consumer side by side, so the highest position seen says nothing about others:
 * what counts is the last revision of each stream. Beside it stands one position up to which everything is known to
 * be done, where a start reads on.
 *
 * A view writes with the transaction of its rows, so that every event counts once; a reactor on its own, afterwards.
 */
export interface Progress {
  /** Everything up to here is done; 'start' for a new consumer. */
  load(consumer: string): Promise<{ readonly position: bigint | 'start' }>
  /** @returns undefined where nothing of the stream was seen */
  revision(consumer: string, stream: string, db?: Kysely<object>): Promise<number | undefined>
  /** Notes the last event of a stream. @returns whether it was later than the one before; else nothing changed */
  advance(consumer: string, reached: Reached, db?: Kysely<object>): Promise<boolean>
  /** Everything up to `position` is done. It never goes back. */
  settle(consumer: string, position: bigint, db?: Kysely<object>): Promise<void>
  /** Notes events beyond the settled position that are done, in whatever order. */
  note(consumer: string, positions: readonly bigint[]): Promise<void>
  /** @returns those noted positions that are beyond `after`, and not beyond `until` */
  noted(consumer: string, after: bigint | 'start', until: bigint): Promise<readonly bigint[]>
  /** Forgets the notes up to a position, once it is settled. */
  dropNotes(consumer: string, until: bigint): Promise<void>
  /** Forgets a consumer, so that its view can be built again. */
  reset(consumer: string, db?: Kysely<object>): Promise<void>
}
