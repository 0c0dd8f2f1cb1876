/** `key` is the aggregate's id: messages of one key stay in order. `headers` are small texts, `body` is JSON. */
export type BusMessage = {
  readonly id: string
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * What a consumer makes of a message: done, or set aside with the reason because it can never be handled as the code is now.
 * `lost`: what comes before it, was lost by a bus that may lose, and is to be kept in front of it.
 * `kept`: called when all of that is kept, durably; not where it could not be, and the message comes again.
 */
export type Handled = 'done' | { readonly park: string; readonly lost?: readonly BusMessage[]; readonly kept?: () => void }

export type Subscription = {
  /** A name that consumers share who divide the work; each group sees every message. */
  readonly group: string
  readonly topic: string
  /**
   * Called again with the same message, with back-off, when it throws: a fault. Calls of one key never overlap and are
   * in order; different keys run side by side, up to `concurrency`. Back-pressure is the promise: no more is read
   * ahead than `concurrency` keys need.
   */
  readonly handle: (message: BusMessage) => Promise<Handled>
  /**
   * Told, at least once, of each message that was set aside behind a parked one: it is kept there now, and `handle` was
   * not called with it. A replay calls `handle` with it.
   */
  readonly aside?: (message: BusMessage) => void
  readonly concurrency?: number
}

/** A key that waits for a fix: its messages in order, the first of which could not be handled. */
export type ParkedKey = {
  readonly group: string
  readonly topic: string
  readonly key: string
  readonly reason: string
  readonly since: number
  readonly messages: number
}

export interface RunningSubscription {
  /** Takes no more messages, waits for those in hand, keeps the progress. */
  close(): Promise<void>
}

/**
 * Messages between services: at least once, in order per key. A message counts as delivered only when its handler
 * is done with it, so a process that dies between a publish and a handler sees the message again.
 * A parked key holds back its own later messages and nobody else's.
 */
export interface Bus {
  /** Messages are kept elsewhere than facts, and not for ever: what was published may be gone before it was handed over. */
  readonly mayLose?: true
  /** Durable when it resolves, in the order given per key. @throws Fault where it may or may not have been stored */
  publish(topic: string, messages: readonly BusMessage[]): Promise<void>
  subscribe(subscription: Subscription): Promise<RunningSubscription>
  parked(): Promise<readonly ParkedKey[]>
  /** Hands the messages of a parked key to their handler again, in order. @returns how many were put back */
  replay(parked: { readonly group: string; readonly topic: string; readonly key: string }): Promise<number>
  close(): Promise<void>
}
