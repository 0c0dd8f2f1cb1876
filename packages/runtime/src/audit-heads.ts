import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { z } from 'zod'

const place = z.string().regex(/^(start|\d+)$/)

/**
 * A log head: what the whole log was up to a position, noted outside of the store. A stream's own hashes cannot tell
 * that its last events are gone, nor that all of it was written anew; heads can.
 */
const shape = z.strictObject({
  /** The position of the head before; 'start' for the first. */
  from: place,
  position: place,
  events: z.int().nonnegative(),
  at: z.int(),
  /** Streams that grew since the head before: their first and last new revision, and the chain hash of the last. */
  streams: z.array(z.tuple([z.string(), z.int(), z.int(), z.string()])),
  /** Of the head before and every event since, in order. */
  hash: z.string(),
  /** What it covers stood uncovered for longer than a kill explains, and nothing proves what it was meanwhile. */
  gap: z.literal(true).optional(),
  /** Under the audit key, of everything before it. */
  mac: z.string(),
})
export type Head = z.output<typeof shape>

/** Where heads are kept, in order, each a line of text. */
export type HeadLog = {
  /** Undefined for a reader that has no key: it can compare, but not tell who wrote the heads. */
  readonly key: Uint8Array | undefined
  /** The lines up to the newest, what is written while they are read among them. */
  lines(): AsyncIterable<string>
  last(): Promise<string | undefined>
  append(line: string): Promise<void>
  /** The line of the log's end (`sealEnd`) that was written last. */
  end(): Promise<string | undefined>
  writeEnd(line: string): Promise<void>
}
/** What an audit compares with. */
export type ReadHeads = Pick<HeadLog, 'key' | 'lines'> & Partial<Pick<HeadLog, 'end'>>

/**
 * Why heads do not prove that nothing was cut off or rewritten: there are none, no key tells who wrote them, they end long
 * or many events before the log, or a part of the log had none for too long.
 */
export type Unproven = 'no heads' | 'no key' | 'late' | 'uncovered' | 'gap'

/** Heads are written within seconds. A job of the market that stands still for so long is a fault as well. */
const LATE_MS = 600_000
/** Whoever rewrites the log can date its events as he likes, and cannot make them fewer. */
const MOST_UNCOVERED = 5000

type Compared = {
  readonly heads: number
  readonly signed: boolean
  /** Of what comes after the last head. */
  readonly lateMs?: number
  readonly eventsAfter?: number
  readonly hasGap?: boolean
}

/** Whoever can write the store can take heads away, and write others without a signature. */
export function unprovenBy({ heads, signed, lateMs = 0, eventsAfter = 0, hasGap = false }: Compared): Unproven | null {
  if (heads === 0) return 'no heads'
  if (!signed) return 'no key'
  if (lateMs > LATE_MS) return 'late'
  if (eventsAfter > MOST_UNCOVERED) return 'uncovered'
  return hasGap ? 'gap' : null
}

/** The log before its first event. */
const LOG_START = '0'.repeat(64)

const CHAIN_END = '"}'.length
const chainText = (meta: string): string => meta.slice(-64 - CHAIN_END, -CHAIN_END)

/**
 * The log's hash after one more event. The chain hash of the event stands for its bytes; the parts before the stream's
 * name are of fixed length or numbers, so they cannot run into each other.
 */
const rolled = (previous: string, { position, revision, stream, meta }: StoredEvent): string =>
  hash('sha256', `${previous}${chainText(meta)}${position} ${revision} ${stream}`)

type Reach = { readonly first: number; last: number; chain: string }

/** The part of the log after a head, while it is read. */
export function segment(previous: Pick<Head, 'position' | 'events' | 'hash'>) {
  const streams = new Map<string, Reach>()
  let { position, events, hash: rolling } = previous
  return {
    add(event: StoredEvent): void {
      rolling = rolled(rolling, event)
      position = `${event.position}`
      events += 1
      const reach = streams.get(event.stream)
      if (!reach) streams.set(event.stream, { first: event.revision, last: event.revision, chain: chainText(event.meta) })
      else {
        reach.last = event.revision
        reach.chain = chainText(event.meta)
      }
    },
    size: (): number => events - previous.events,
    streams: streams as ReadonlyMap<string, Readonly<Reach>>,
    reached: () => ({ position, events, hash: rolling }),
    /** @returns the head's line, signed */
    seal(key: Uint8Array, at: number, isGap = false): string {
      const names = [...streams].map(([name, { first, last, chain }]) => [name, first, last, chain])
      const head = { from: previous.position, position, events, at, streams: names, hash: rolling, ...(isGap && { gap: true }) }
      return withMac(key, head)
    },
  }
}

function withMac(key: Uint8Array, what: object): string {
  const open = JSON.stringify(what).slice(0, -1)
  return `${open},"mac":"${mac(key, open)}"}`
}

const mac = (key: Uint8Array, open: string): string => createHmac('sha256', key).update(open).digest('hex')
const MAC_LENGTH = `,"mac":"${'0'.repeat(64)}"}`.length

export const NO_HEAD = { position: 'start', events: 0, hash: LOG_START }

const endShape = z.strictObject({
  position: place,
  events: z.int().nonnegative(),
  hash: z.string(),
  at: z.int(),
  /** The market was stopped, and nothing was appended afterwards. */
  closed: z.boolean(),
  mac: z.string(),
})

/**
 * The log's end as the market saw it last. It is written again and again, also while nothing comes, so that a start can
 * tell a quiet market from one whose heads are gone.
 */
export type LogEnd = Omit<z.output<typeof endShape>, 'mac'>

export const sealEnd = (key: Uint8Array, end: LogEnd): string => withMac(key, end)

/** @returns undefined where the line is none of a log's end */
export function readEnd(line: string): LogEnd | undefined {
  try {
    return endShape.parse(JSON.parse(line))
  } catch {
    return undefined
  }
}

/** @throws Error where the line is none of a head */
export const parseHead = (line: string): Head => shape.parse(JSON.parse(line))

/** @returns undefined where the line is none of a head */
export function readHead(line: string): Head | undefined {
  try {
    return parseHead(line)
  } catch {
    return undefined
  }
}

/** Whether this key signed the line. */
export function isSigned(key: Uint8Array, line: string): boolean {
  const open = line.slice(0, -MAC_LENGTH)
  const expected = Buffer.from(`${open},"mac":"${mac(key, open)}"}`)
  const given = Buffer.from(line)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** A position as the store takes it. */
export const positionOf = (text: string): bigint | 'start' => (text === 'start' ? text : BigInt(text))
