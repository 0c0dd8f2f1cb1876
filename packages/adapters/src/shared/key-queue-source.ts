import type { BusMessage } from '@penstock/ports/bus.ts'

/** A message with its sequence number in the topic. Numbers grow, possibly with gaps. */
export type SequencedMessage = BusMessage & { readonly seq: number }

/**
 * The storage of one group and topic, as a dispatcher uses it. Reads are synchronous: the memory and SQLite logs answer within
 * microseconds, and the state cannot change between a read and the decision after it.
 */
export type KeyQueueSource = {
  /** Messages of the topic after a sequence number, in order. */
  read(after: number, max: number): readonly SequencedMessage[]
  /** Messages of one key with sequence numbers greater than `after` and at most `until`, in order. */
  readKey(key: string, after: number, until: number, max: number): readonly SequencedMessage[]
  /** The sequence number up to which every message is handled. */
  progress(): number
  /** Schedules a call of `progress` within a bounded time, and saves its result. A crash may lose it. */
  saveSoon(progress: () => number): void
  saveNow(progress: number): Promise<void>
  parkedKeys(): readonly { readonly key: string; readonly replaying: boolean }[]
  /** Parks a key with the message that cannot be handled. A replay of the key ends. */
  park(message: SequencedMessage, reason: string): Promise<void>
  /** Adds a later message to a parked key. @returns false if the key is not parked any more */
  parkBehind(message: SequencedMessage): Promise<boolean>
  firstParked(key: string): SequencedMessage | undefined
  /** Removes a message that was handled in a replay. */
  unpark(message: SequencedMessage): Promise<void>
  /** Releases the key if it has no parked message left. @returns whether the key was released */
  release(key: string): Promise<boolean>
}
