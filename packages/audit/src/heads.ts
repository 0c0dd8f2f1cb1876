import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { z } from 'zod'

const positionShape = z.string().regex(/^(start|\d+)$/)

/**
 * A log head describes the whole log up to a position, and is stored outside the event store. Heads reveal that the last
 * events of a stream were removed, or that the whole stream was rewritten; the stream's own hashes cannot.
 */
const headShape = z.strictObject({
  /** The position of the previous head; 'start' for the first head. */
  from: positionShape,
  position: positionShape,
  events: z.int().nonnegative(),
  at: z.int(),
  /** Streams that grew after the previous head: name, first and last new revision, and chain hash of the last revision. */
  streams: z.array(z.tuple([z.string(), z.int(), z.int(), z.string()])),
  /** The hash over the previous head's hash and every event after that head, in order. */
  hash: z.string(),
  /** The events had no head for longer than a crash explains, so no head proves their earlier contents. */
  gap: z.literal(true).optional(),
  /** The HMAC under the audit key, over everything before this field. */
  mac: z.string(),
})
export type LogHead = z.output<typeof headShape>

/** Stores heads in order, each as a line of text. */
export type LogHeadStore = {
  /** Undefined for a reader without a key, which can compare heads but cannot check their signatures. */
  readonly key: Uint8Array | undefined
  /** Reads all lines up to the newest, including lines that are written during the read. */
  lines(): AsyncIterable<string>
  last(): Promise<string | undefined>
  append(line: string): Promise<void>
  /** The newest line of the log's end (`sealLogEnd`). */
  end(): Promise<string | undefined>
  writeEnd(line: string): Promise<void>
}
/** The part of the store that an audit needs for its comparison. */
export type LogHeadReader = Pick<LogHeadStore, 'key' | 'lines'> & Partial<Pick<LogHeadStore, 'end'>>

/**
 * The reason why heads do not prove the log. 'no heads': there are no heads. 'no key': no key checks their signatures.
 * 'late': the last head is too old. 'uncovered': too many events follow the last head. 'gap': a part of the log had no head
 * for too long.
 */
export type UnprovenReason = 'no heads' | 'no key' | 'late' | 'uncovered' | 'gap'

/** Heads are written within seconds, so a longer time without a head means removed heads or a stopped head writer. */
const LATE_MS = 600_000
/** The number of events is limited too, because an attacker who rewrites the log can choose the timestamps of its events. */
const MAX_UNCOVERED = 5000

type ComparedHeads = {
  readonly heads: number
  readonly signed: boolean
  /** The time span of the events after the last head, in milliseconds. */
  readonly lateMs?: number
  readonly eventsAfter?: number
  readonly hasGap?: boolean
}

/** Heads without a key prove nothing, because an attacker with access to the files can replace them. */
export function findUnprovenReason({
  heads,
  signed,
  lateMs = 0,
  eventsAfter = 0,
  hasGap = false,
}: ComparedHeads): UnprovenReason | null {
  if (heads === 0) return 'no heads'
  if (!signed) return 'no key'
  if (lateMs > LATE_MS) return 'late'
  if (eventsAfter > MAX_UNCOVERED) return 'uncovered'
  return hasGap ? 'gap' : null
}

/** The hash of the log before its first event. */
const LOG_START = '0'.repeat(64)

const CHAIN_END = '"}'.length
const chainHashOf = (meta: string): string => meta.slice(-64 - CHAIN_END, -CHAIN_END)

/**
 * The log's hash after one more event. The chain hash of the event represents its bytes. The parts before the stream's name
 * have a fixed length or are numbers, so the hashed text is unambiguous.
 */
const rollHash = (previous: string, { position, revision, stream, meta }: StoredEvent): string =>
  hash('sha256', `${previous}${chainHashOf(meta)}${position} ${revision} ${stream}`)

type StreamRange = { readonly first: number; last: number; chain: string }

/** The part of the log after a head, while it is read. */
export function openSegment(previous: Pick<LogHead, 'position' | 'events' | 'hash'>) {
  const streams = new Map<string, StreamRange>()
  let { position, events, hash: rolling } = previous
  return {
    add(event: StoredEvent): void {
      rolling = rollHash(rolling, event)
      position = `${event.position}`
      events += 1
      const range = streams.get(event.stream)
      if (!range) streams.set(event.stream, { first: event.revision, last: event.revision, chain: chainHashOf(event.meta) })
      else {
        range.last = event.revision
        range.chain = chainHashOf(event.meta)
      }
    },
    size: (): number => events - previous.events,
    streams: streams as ReadonlyMap<string, Readonly<StreamRange>>,
    reached: () => ({ position, events, hash: rolling }),
    /** @returns the head's line, signed */
    seal(key: Uint8Array, at: number, isGap = false): string {
      const names = [...streams].map(([name, { first, last, chain }]) => [name, first, last, chain])
      const head = { from: previous.position, position, events, at, streams: names, hash: rolling, ...(isGap && { gap: true }) }
      return addMac(key, head)
    },
  }
}

function addMac(key: Uint8Array, content: object): string {
  const open = JSON.stringify(content).slice(0, -1)
  return `${open},"mac":"${computeMac(key, open)}"}`
}

const computeMac = (key: Uint8Array, open: string): string => createHmac('sha256', key).update(open).digest('hex')
const MAC_LENGTH = `,"mac":"${'0'.repeat(64)}"}`.length

export const NO_HEAD = { position: 'start', events: 0, hash: LOG_START }

const endShape = z.strictObject({
  position: positionShape,
  events: z.int().nonnegative(),
  hash: z.string(),
  at: z.int(),
  /** The market stopped cleanly, so that no event may follow. */
  closed: z.boolean(),
  mac: z.string(),
})

/**
 * The last known end of the log. It is written periodically, even without new events. A later start can thereby distinguish
 * a quiet market from a market whose heads were removed.
 */
export type SignedLogEnd = Omit<z.output<typeof endShape>, 'mac'>

export const sealLogEnd = (key: Uint8Array, end: SignedLogEnd): string => addMac(key, end)

/** @returns undefined if the line is not a log end */
export function parseLogEnd(line: string): SignedLogEnd | undefined {
  try {
    return endShape.parse(JSON.parse(line))
  } catch {
    return undefined
  }
}

/** @throws Error if the line is not a head */
export const parseHead = (line: string): LogHead => headShape.parse(JSON.parse(line))

/** @returns undefined if the line is not a head */
export function tryParseHead(line: string): LogHead | undefined {
  try {
    return parseHead(line)
  } catch {
    return undefined
  }
}

/** Whether this key signed the line. */
export function isSigned(key: Uint8Array, line: string): boolean {
  const open = line.slice(0, -MAC_LENGTH)
  const expected = Buffer.from(`${open},"mac":"${computeMac(key, open)}"}`)
  const given = Buffer.from(line)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** Converts the position of a head to a position of the event store. */
export const parsePosition = (text: string): bigint | 'start' => (text === 'start' ? text : BigInt(text))
