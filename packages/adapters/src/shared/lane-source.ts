import type { BusMessage } from '@penstock/ports/bus.ts'

/** A message with its place in the topic: places grow, not every one is there. */
export type Sequenced = BusMessage & { readonly seq: number }

/**
 * What a dispatcher asks of the storage of one group and topic. Reads are synchronous: both the memory and the SQLite
 * log answer within microseconds, and nothing can change between a look and the decision that follows.
 */
export type LaneSource = {
  /** Messages of the topic after a place, in order. */
  read(after: number, max: number): readonly Sequenced[]
  /** Messages of one key after a place and up to another, in order. */
  readKey(key: string, after: number, until: number, max: number): readonly Sequenced[]
  /** The place up to which every message is handled. */
  progress(): number
  /** Asks to be called back for the progress within a bounded time, to keep it; a crash may lose it. */
  saveSoon(progress: () => number): void
  saveNow(progress: number): Promise<void>
  parkedKeys(): readonly { readonly key: string; readonly replaying: boolean }[]
  /** Sets a key aside with the message that cannot be handled; a key under replay goes back to waiting. */
  park(message: Sequenced, reason: string): Promise<void>
  /** Adds a later message to a parked key. @returns false where the key is not parked any more */
  parkBehind(message: Sequenced): Promise<boolean>
  firstParked(key: string): Sequenced | undefined
  /** Removes a message that was handled in a replay. */
  unpark(message: Sequenced): Promise<void>
  /** Frees the key if none of its messages is left. @returns whether it is free */
  release(key: string): Promise<boolean>
}
