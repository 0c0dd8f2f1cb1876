import type { ConsumerProgress } from './progress.ts'
import type { Views } from './views.ts'

/** Empty tables with the names of the live tables. They are filled from the facts, and then replace the live tables. */
export interface ShadowTables {
  readonly views: Views
  readonly progress: ConsumerProgress
  /**
   * Swaps tables and progress in one transaction, which blocks the progress of consumers while `catchUp` brings the new tables up
   * to date. Readers continue. `consumers`: names with a progress per stream; `positions`: names with a checkpoint.
   */
  swap(names: SwappedNames, catchUp: () => Promise<void>): Promise<void>
  /** Drops the tables that were not swapped. */
  drop(): Promise<void>
}

export type SwappedNames = {
  readonly tables: readonly string[]
  readonly consumers: readonly string[]
  readonly positions: readonly string[]
}

/** @throws Error if another rebuild is in progress */
export type OpenShadowTables = () => Promise<ShadowTables>
