import type { Progress } from './progress.ts'
import type { Views } from './views.ts'

/** Tables of the same names as those in use, empty at first, which take their place once they hold what those should. */
export interface Beside {
  readonly views: Views
  readonly progress: Progress
  /**
   * In one transaction: holds up the progress of consumers, lets `last` bring the new tables as far, and exchanges tables
   * and progress. Readers go on meanwhile. `consumers`: the names with which progress is kept by stream; `positions`: those
   * with which it is kept as a position.
   */
  exchange(what: Exchanged, last: () => Promise<void>): Promise<void>
  /** Throws away what was made and not exchanged. */
  drop(): Promise<void>
}

export type Exchanged = {
  readonly tables: readonly string[]
  readonly consumers: readonly string[]
  readonly positions: readonly string[]
}

/** @throws Error where another rebuild is under way */
export type OpenBeside = () => Promise<Beside>
