/** `key` is the aggregate's id: its messages of one priority stay in order. `headers` are small texts, `body` is JSON. */
export type BusMessage = {
  readonly id: string
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * A consumer's result for a message: done, or parked with the reason, because the present code can never handle it.
 * `lostBefore`: earlier messages that a lossy bus has lost. The bus stores them in front of the parked message. `onStored`
 * is called when all of these messages are durable. If they cannot be stored, the message is delivered again.
 */
export type HandlerResult =
  | 'done'
  | { readonly park: string; readonly lostBefore?: readonly BusMessage[]; readonly onStored?: () => void }

export type Subscription = {
  /** The consumers of a group share its messages. Each group gets every message. */
  readonly group: string
  readonly topic: string
  /**
   * Handles a message. If it throws, the bus calls it again with the message after a back-off. In a process, calls of one key run
   * one after the other, and up to `concurrency` keys run in parallel. The bus reads ahead only as many messages as these keys
   * need.
   */
  readonly handle: (message: BusMessage) => Promise<HandlerResult>
  /**
   * Called at least once for each message that is now stored behind a parked message. `handle` was not called with it, and
   * gets it in a replay.
   */
  readonly onSetAside?: (message: BusMessage) => void
  readonly concurrency?: number
  /**
   * Whether a message has low priority, by its headers. Up to `concurrency` keys with low-priority messages run in addition
   * to the others. No other message waits for them while at most eight times `concurrency` of their keys wait.
   *
   * Kafka stores them in partitions of their own, so that no message of another key waits for them. It may deliver a message
   * before earlier low-priority messages of its key, and may give these to another process at the same time.
   */
  readonly isLowPriority?: (message: BusMessage) => boolean
}

/** A key that waits for a fix, because its first message could not be handled. `messages`: the number of stored messages. */
export type ParkedKey = {
  readonly group: string
  readonly topic: string
  readonly key: string
  readonly reason: string
  readonly since: number
  readonly messages: number
}

export interface RunningSubscription {
  /** Takes no more messages, waits for those in progress, and saves the progress. */
  close(): Promise<void>
}

/**
 * Messages between services, at least once and in order per key and priority. A message counts as delivered once its handler is
 * done, so after an earlier crash it is delivered again. A parked key holds back only its own later messages.
 */
export interface Bus {
  /** The bus stores messages apart from the facts and for a limited time, so it may lose a message before its delivery. */
  readonly mayLose?: true
  /**
   * Resolves when the messages are durable, in the given order per key and priority.
   * @throws Fault if their durability is unknown
   */
  publish(topic: string, messages: readonly BusMessage[]): Promise<void>
  subscribe(subscription: Subscription): Promise<RunningSubscription>
  parked(): Promise<readonly ParkedKey[]>
  /** Hands the messages of a parked key to their handler again, in order. @returns the number of messages */
  replay(parked: { readonly group: string; readonly topic: string; readonly key: string }): Promise<number>
  close(): Promise<void>
}
