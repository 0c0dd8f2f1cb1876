import { categoryOf, type StoredEvent } from '@penstock/ports/event-store.ts'
import { digestOf, type ExportedStream, exportShape, type OrderExport, summaryOf } from './audit-export.ts'
import {
  type Aggregates,
  aggregatesOf,
  checkedStep,
  type Divergence,
  type Folded,
  isDivergence,
  ownerOf,
  unfolded,
  unhashed,
} from './audit-fold.ts'
import { ledgerCheck } from './audit-ledger.ts'
import { isAbout, namedBy, OWN } from './audit-order.ts'
import type { Unproven } from './audit-heads.ts'
import { canonical } from './canonical.ts'
import { expectedChain } from './event-codec.ts'
import type { Service } from './service.ts'

/** What the check of an exported order found. `states`: how many recorded state hashes were derived again. */
export type CheckReport = {
  readonly order: string
  readonly streams: number
  readonly events: number
  readonly states: number
  readonly divergences: readonly Divergence[]
  readonly ledger_balanced: boolean
  /** The store's log head when the file was made, to be compared with one that was noted elsewhere. */
  readonly head: OrderExport['head']
  /** Only where the file was compared with log heads. */
  readonly log?: {
    readonly heads: number
    /** Whether the audit key was there to tell who wrote them. */
    readonly signed: boolean
    /** Why they prove nothing, null where they do. */
    readonly unproven: Unproven | null
    /** Events of the order's own streams that none of the heads covers. */
    readonly events_after: number
    /** Streams of the order alone that have gone on since the file's own head, or since the last fact that it has of them. */
    readonly gone_on: number
  }
}

/**
 * Checks an exported order without a store: whole streams from their beginning as an audit does, excerpts of shared
 * streams event by event, the summary and the digest by making them again, and that all of it is of this order.
 * @throws Error with a sentence where it is no such file
 */
export function checkExport(text: string, services: readonly Service<never>[]): CheckReport {
  const file = parseExport(text)
  const aggregates = aggregatesOf(services)
  const ledger = ledgerCheck()
  const found = file.streams.map((stream) => checkStream(aggregates, stream))
  const events = file.streams.flatMap((stream) => stream.events.map((event) => storedOf(stream, event)))
  events.forEach((event) => ledger.add(event))
  const { digest, ...bare } = file
  return {
    order: file.order,
    streams: file.streams.length,
    events: events.length,
    states: found.reduce((sum, { states }) => sum + states, 0),
    divergences: [
      ...found.flatMap(({ wrong }) => (wrong ? [wrong] : [])),
      ...faultsOfFile(file),
      ...(digestOf(bare) === digest ? [] : [ofFile('its digest does not fit its contents')]),
    ],
    ledger_balanced: ledger.balanced(),
    head: file.head,
  }
}

/** @throws Error with a sentence where it is no exported order */
export function parseExport(text: string): OrderExport {
  const parsed = exportShape.safeParse(asJson(text))
  if (parsed.success) return parsed.data
  const { path = [], message = '' } = parsed.error.issues[0] ?? {}
  throw new Error(`it is no exported order of version 1: ${path.join('.') || 'the file'}: ${message}`)
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('it is no JSON')
  }
}

const ofFile = (what: string): Divergence => ({ stream: 'file', revision: 0, what })

/** What holds between the streams of one order. */
function faultsOfFile(file: OrderExport): readonly Divergence[] {
  const names = file.streams.map(({ stream }) => stream)
  const isKnownWhole = (category: string): boolean =>
    file.streams.some(({ stream, whole }) => stream === `${category}-${file.order}` && whole)
  const faults = [
    ...(new Set(names).size === names.length ? [] : ['a stream is in it twice']),
    ...(isKnownWhole('order') || isKnownWhole('quote') ? [] : ['it has neither the quote nor the order that it is about']),
    ...file.streams
      .filter(({ stream, whole }) => !whole && !SHARED.has(categoryOf(stream)))
      .map(({ stream }) => `${stream} is not whole`),
    ...file.streams
      .filter(({ stream, whole }) => whole && SHARED.has(categoryOf(stream)))
      .map(({ stream }) => `${stream} is said to be of this order alone`),
    ...strangers(file),
    ...(inOrder(file.streams) ? [] : ['its facts do not stand at the positions of one log']),
  ]
  const remade = attempt(() => canonical(summaryOf(file.streams)) === canonical(file.summary))
  return [...faults, ...(remade ? [] : ['its summary is not what its facts come to'])].map(ofFile)
}

const SHARED: ReadonlySet<string> = new Set(['offer', 'seller'])

/** What is sound by itself, and of another order. */
function strangers({ order, streams }: OrderExport): readonly string[] {
  const own = new Set(OWN.map((category) => `${category}-${order}`))
  const named = namedBy(streams.filter(({ stream }) => own.has(stream)).flatMap(({ events }) => events))
  return streams.flatMap(({ stream, whole, events }) => {
    if (own.has(stream)) return []
    if (!named.has(stream)) return [`${stream} is no stream of this order`]
    const isPart = whole ? events.some((one) => isAbout(order, one)) : events.every((one) => isAbout(order, one))
    return isPart ? [] : [`${stream} has facts of other orders`]
  })
}

/** Each stream in the order of its revisions, and no place taken twice. */
function inOrder(streams: readonly ExportedStream[]): boolean {
  const places = streams.flatMap(({ events }) => events.map(({ position }) => position))
  return (
    new Set(places).size === places.length &&
    streams.every(({ events }) =>
      events.every(({ position, revision }, n) => {
        const before = events[n - 1]
        return !before || (BigInt(before.position) < BigInt(position) && before.revision < revision)
      }),
    )
  )
}

const attempt = (check: () => boolean): boolean => {
  try {
    return check()
  } catch {
    return false // an edited event that is no JSON is a divergence of its stream already
  }
}

const storedOf = (
  { stream }: ExportedStream,
  { previous: _, position, ...event }: ExportedStream['events'][number],
): StoredEvent => ({ ...event, stream, position: BigInt(position) })

function checkStream(aggregates: Aggregates, exported: ExportedStream): { readonly states: number; readonly wrong?: Divergence } {
  let folded: Folded | undefined
  let states = 0
  for (const one of exported.events) {
    const event = storedOf(exported, one)
    if (!one.meta.endsWith(`,"chain":"${expectedChain(one.previous, event)}"}`))
      return {
        states,
        wrong: { stream: event.stream, revision: event.revision, what: 'the chain hash does not cover the event' },
      }
    if (!exported.whole) continue
    const aggregate = ownerOf(aggregates, event)
    const step = isDivergence(aggregate) ? aggregate : checkedStep(aggregate, folded ?? unfolded(aggregate), event)
    if (isDivergence(step)) return { states, wrong: step }
    if (step.meta.state !== undefined) states += 1
    folded = step
  }
  return folded?.open === undefined ? { states } : { states, wrong: unhashed(exported.stream, folded) }
}
