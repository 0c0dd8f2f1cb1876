import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Message } from 'kafkajs'
import type { BusLog } from './client.ts'

export type Entry = { readonly partition: number; readonly record: Message }
/** @returns the partitions whose messages are stored for certain */
export type Send = (entries: readonly Entry[]) => Promise<ReadonlySet<number>>

type Ticket = { left: number; over: boolean; readonly resolve: () => void; readonly reject: (error: Error) => void }
type Waiting = Entry & { readonly ticket: Ticket }

/** A broker refuses larger batches of a partition; one large message goes alone. */
const MOST_BYTES = 512 * 1024
const MOST_ENTRIES = 10_000
const WAIT_MIN_MS = 50
const WAIT_MAX_MS = 1000
/** Refusals that no later try can change. */
const FINAL = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD', 'TOPIC_AUTHORIZATION_FAILED'])

export type OutboxOptions = { readonly clock: Clock; readonly timeoutMs: number; readonly log: BusLog | undefined }

/**
 * Messages on their way to one topic. A partition has one request at a time, so that a repeat never overtakes what was
 * published after it; what comes meanwhile goes together in the next one.
 */
export function outbox(send: Send, { clock, timeoutMs, log }: OutboxOptions) {
  let waiting: Waiting[] = []
  const busy = new Set<number>()
  const closed = new AbortController()

  function flush(): void {
    const { now, later } = nextRequest(waiting, busy)
    if (now.length === 0) return
    waiting = later
    const partitions = new Set(now.map(({ partition }) => partition))
    for (const partition of partitions) busy.add(partition)
    void untilStored(now).then(() => {
      for (const partition of partitions) busy.delete(partition)
      flush()
    })
  }
  async function untilStored(entries: readonly Waiting[]): Promise<void> {
    let left = entries
    for (let waitMs = WAIT_MIN_MS; left.length > 0; waitMs = Math.min(waitMs * 2, WAIT_MAX_MS)) {
      left = await tried(left)
      if (left.length > 0) await clock.sleep(waitMs, closed.signal)
      if (closed.signal.aborted) for (const { ticket } of left) fail(ticket, new Fault('the bus is closed'))
      // Whoever published it was told that it failed and publishes it again.
      left = left.filter(({ ticket }) => !ticket.over)
    }
  }
  /** @returns what is not stored yet */
  async function tried(entries: readonly Waiting[]): Promise<readonly Waiting[]> {
    try {
      const stored = await send(entries)
      for (const { partition, ticket } of entries) if (stored.has(partition)) arrived(ticket)
      return entries.filter(({ partition }) => !stored.has(partition))
    } catch (error) {
      log?.info({ messages: entries.length, reason: String(error) }, 'messages could not be published; trying again')
      if (!isFinal(error)) return entries
      const partitions = [...new Set(entries.map(({ partition }) => partition))]
      if (partitions.length === 1) return refused(entries, error)
      // One partition's fault is not the others'.
      const each = partitions.map((partition) => tried(entries.filter((entry) => entry.partition === partition)))
      return (await Promise.all(each)).flat()
    }
  }
  return {
    async put(entries: readonly Entry[]): Promise<void> {
      if (closed.signal.aborted) throw new Fault('the bus is closed')
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const ticket: Ticket = { left: entries.length, over: false, resolve, reject }
      for (const entry of entries) waiting.push({ ...entry, ticket })
      flush()
      const timer = setTimeout(() => fail(ticket, new Fault('the brokers have not confirmed messages in time')), timeoutMs)
      try {
        await promise
      } finally {
        clearTimeout(timer)
        if (ticket.left > 0) waiting = waiting.filter((entry) => entry.ticket !== ticket)
      }
    },
    close(): void {
      closed.abort()
      for (const { ticket } of waiting) fail(ticket, new Fault('the bus is closed'))
    },
  }
}

/** What can go now, in order: at most so much of each partition that has no request under way. */
function nextRequest(waiting: readonly Waiting[], busy: ReadonlySet<number>): { now: Waiting[]; later: Waiting[] } {
  const bytes = new Map<number, number>()
  const full = new Set(busy)
  const now: Waiting[] = []
  const later: Waiting[] = []
  for (const entry of waiting) {
    const before = bytes.get(entry.partition) ?? 0
    const size = before + (entry.record.value?.length ?? 0)
    if (now.length >= MOST_ENTRIES || (before > 0 && size > MOST_BYTES)) full.add(entry.partition)
    if (full.has(entry.partition)) later.push(entry)
    else now.push(entry)
    bytes.set(entry.partition, size)
  }
  return { now, later }
}

function arrived(ticket: Ticket): void {
  if (--ticket.left === 0 && !ticket.over) ticket.resolve()
}

function fail(ticket: Ticket, error: Error): void {
  ticket.over = true
  ticket.reject(error)
}

function refused(entries: readonly Waiting[], error: unknown): readonly Waiting[] {
  for (const { ticket } of entries) fail(ticket, new Error(`Kafka refuses a message: ${String(error)}`))
  return []
}

/** The name of Kafka's own error, if there is one below those of the client. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('type' in error && FINAL.has(String(error.type))) return true
  return isFinal(error.cause)
}
