import { Fault } from '@penstock/kernel/result.ts'
import { computeBackoffMs, type RandomSource } from '@penstock/kernel/backoff.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Message } from 'kafkajs'
import type { BusLog } from './client.ts'

export type OutboxEntry = { readonly partition: number; readonly record: Message }
/** @returns the partitions whose messages are confirmed as stored */
export type SendEntries = (entries: readonly OutboxEntry[]) => Promise<ReadonlySet<number>>

type PendingPublish = {
  remaining: number
  isSettled: boolean
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}
type QueuedEntry = OutboxEntry & { readonly pending: PendingPublish }

/** Maximum bytes per partition in a request, because a broker refuses large batches. A larger message is sent alone. */
const MAX_BYTES = 512 * 1024
const MAX_ENTRIES = 10_000
const WAIT_MIN_MS = 50
const WAIT_MAX_MS = 1000
/** Types of Kafka errors that no retry can resolve. */
const FINAL_ERRORS = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD', 'TOPIC_AUTHORIZATION_FAILED'])

export type OutboxOptions = {
  readonly clock: Clock
  readonly chance: RandomSource
  readonly timeoutMs: number
  readonly log: BusLog | undefined
}

/**
 * The queue of messages for one topic. A partition has one request at a time, so that no retry overtakes later messages. Messages
 * that arrive during a request share the next request. A partition that fails sends alone until it stores messages, so that the
 * others do not wait for it.
 */
export function createOutbox(send: SendEntries, { clock, chance, timeoutMs, log }: OutboxOptions) {
  let queued: QueuedEntry[] = []
  /** Partitions with a request in flight, or with entries that wait for a retry. */
  const busy = new Set<number>()
  const failing = new Set<number>()
  const closed = new AbortController()

  function flush(): void {
    const { now, later } = selectRequest(queued, busy)
    queued = later
    const requests = Map.groupBy(now, ({ partition }) => (failing.has(partition) ? partition : 'shared'))
    for (const entries of requests.values()) void sendRequest(entries)
  }
  async function sendRequest(entries: readonly QueuedEntry[], tries = 0): Promise<void> {
    const partitions = partitionsOf(entries)
    for (const partition of partitions) busy.add(partition)
    const remaining = Map.groupBy(await trySend(entries, send, log), ({ partition }) => partition)
    for (const partition of partitions) {
      if (remaining.has(partition)) failing.add(partition)
      else {
        failing.delete(partition)
        busy.delete(partition)
      }
    }
    flush()
    for (const [partition, retried] of remaining) void retryLater(partition, retried, tries)
  }
  async function retryLater(partition: number, entries: readonly QueuedEntry[], tries: number): Promise<void> {
    await clock.sleep(computeBackoffMs(tries, chance, WAIT_MIN_MS, WAIT_MAX_MS), closed.signal)
    if (closed.signal.aborted) for (const { pending } of entries) fail(pending, new Fault('the bus is closed'))
    // A settled publish has failed, and its publisher publishes the messages again. So they are not sent here any more.
    const remaining = entries.filter(({ pending }) => !pending.isSettled)
    if (remaining.length > 0) return sendRequest(remaining, tries + 1)
    busy.delete(partition)
    flush()
  }
  return {
    async put(entries: readonly OutboxEntry[]): Promise<void> {
      if (closed.signal.aborted) throw new Fault('the bus is closed')
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const pending: PendingPublish = { remaining: entries.length, isSettled: false, resolve, reject }
      for (const entry of entries) queued.push({ ...entry, pending })
      flush()
      const cancelTimeout = startTimeout(clock, timeoutMs, pending)
      try {
        await promise
      } finally {
        cancelTimeout()
        if (pending.remaining > 0) queued = queued.filter((entry) => entry.pending !== pending)
      }
    },
    close(): void {
      closed.abort()
      for (const { pending } of queued) fail(pending, new Fault('the bus is closed'))
      queued = []
    },
  }
}

const partitionsOf = (entries: readonly OutboxEntry[]): ReadonlySet<number> => new Set(entries.map(({ partition }) => partition))

/** @returns the entries that are not stored yet */
async function trySend(
  entries: readonly QueuedEntry[],
  send: SendEntries,
  log: BusLog | undefined,
): Promise<readonly QueuedEntry[]> {
  try {
    const stored = await send(entries)
    for (const { partition, pending } of entries) if (stored.has(partition)) confirm(pending)
    return entries.filter(({ partition }) => !stored.has(partition))
  } catch (error) {
    log?.info({ messages: entries.length, reason: String(error) }, 'messages could not be published; trying again')
    // A refused message of one partition must not fail other partitions, which retry alone.
    return isFinal(error) && partitionsOf(entries).size === 1 ? refuseEntries(entries, error) : entries
  }
}

/** Selects the entries to send now, in order: a bounded number for each partition that has no request in flight. */
function selectRequest(queued: readonly QueuedEntry[], busy: ReadonlySet<number>): { now: QueuedEntry[]; later: QueuedEntry[] } {
  const bytes = new Map<number, number>()
  const full = new Set(busy)
  const now: QueuedEntry[] = []
  const later: QueuedEntry[] = []
  for (const entry of queued) {
    const before = bytes.get(entry.partition) ?? 0
    const size = before + (entry.record.value?.length ?? 0)
    if (now.length >= MAX_ENTRIES || (before > 0 && size > MAX_BYTES)) full.add(entry.partition)
    if (full.has(entry.partition)) later.push(entry)
    else now.push(entry)
    bytes.set(entry.partition, size)
  }
  return { now, later }
}

/** Fails the publish at the timeout. @returns a function that cancels the timeout */
function startTimeout(clock: Clock, timeoutMs: number, pending: PendingPublish): () => void {
  const ended = new AbortController()
  void clock.sleep(timeoutMs, ended.signal).then(() => {
    if (!ended.signal.aborted) fail(pending, new Fault('the brokers have not confirmed messages in time'))
  })
  // The default abort reason would capture a stack.
  return () => ended.abort('ended')
}

function confirm(pending: PendingPublish): void {
  if (--pending.remaining === 0 && !pending.isSettled) pending.resolve()
}

function fail(pending: PendingPublish, error: Error): void {
  pending.isSettled = true
  pending.reject(error)
}

function refuseEntries(entries: readonly QueuedEntry[], error: unknown): readonly QueuedEntry[] {
  for (const { pending } of entries) fail(pending, new Error(`Kafka refuses a message: ${String(error)}`))
  return []
}

/** Whether an error is final. kafkajs wraps the error of the broker in its own errors, so the causes are checked too. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('type' in error && FINAL_ERRORS.has(String(error.type))) return true
  return isFinal(error.cause)
}
