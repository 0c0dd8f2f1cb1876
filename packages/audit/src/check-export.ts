import { orderContract } from '@penstock/contracts/order.ts'
import { quoteContract } from '@penstock/contracts/quote.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { computeDigest, type ExportedStream, exportShape, type OrderExport, summarise } from './export-order.ts'
import {
  type Aggregates,
  indexAggregates,
  foldChecked,
  type Divergence,
  type FoldedStream,
  isDivergence,
  aggregateOf,
  emptyFold,
  missingStateHash,
} from './fold.ts'
import { createLedgerCheck } from './ledger-check.ts'
import { isAboutOrder, findReferencedStreams, isSharedStream, ownCategories } from './order-streams.ts'
import type { UnprovenReason } from './heads.ts'
import { toCanonicalJson } from '@penstock/runtime/commands/canonical-json.ts'
import { computeExpectedChain } from '@penstock/runtime/commands/event-codec.ts'
import type { Service } from '@penstock/runtime/service.ts'

/** The result of checking an exported order. `states` is the number of recorded state hashes that were derived again. */
export type ExportCheckReport = {
  readonly order: string
  readonly streams: number
  readonly events: number
  readonly states: number
  readonly divergences: readonly Divergence[]
  readonly ledger_balanced: boolean
  /** The newest log head of the store at the time of the export, for a comparison with a copy of that head. */
  readonly head: OrderExport['head']
  /** Present only if the file was compared with log heads. */
  readonly log?: {
    readonly heads: number
    /** Whether the audit key was available to check the signatures of the heads. */
    readonly signed: boolean
    /** The reason why the heads prove nothing; null if they prove the file. */
    readonly unproven: UnprovenReason | null
    /** Number of events in the order's own streams that no head covers. */
    readonly events_after: number
    /** Number of the order's own streams that grew after the file's head, or after their last fact in the file. */
    readonly gone_on: number
  }
}

/**
 * Checks an exported order without a store. Whole streams are folded from their beginning as in an audit, and excerpts of
 * shared streams are checked event by event. Summary and digest are derived again, and all streams must belong to this order.
 * @throws Error if the text is not an exported order
 */
export function checkExport(text: string, services: readonly Service<never>[]): ExportCheckReport {
  const file = parseExport(text)
  const aggregates = indexAggregates(services)
  const ledger = createLedgerCheck()
  const found = file.streams.map((stream) => checkStream(aggregates, stream))
  const events = file.streams.flatMap((stream) => stream.events.map((event) => toStoredEvent(stream, event)))
  events.forEach((event) => ledger.add(event))
  const { digest, ...bare } = file
  return {
    order: file.order,
    streams: file.streams.length,
    events: events.length,
    states: found.reduce((sum, { states }) => sum + states, 0),
    divergences: [
      ...found.flatMap(({ wrong }) => (wrong ? [wrong] : [])),
      ...checkFile(file),
      ...(computeDigest(bare) === digest ? [] : [fileDivergence('its digest does not match its contents')]),
    ],
    ledger_balanced: ledger.isBalanced(),
    head: file.head,
  }
}

/** @throws Error if the text is not an exported order */
export function parseExport(text: string): OrderExport {
  const parsed = exportShape.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  const { path = [], message = '' } = parsed.error.issues[0] ?? {}
  throw new Error(`it is no exported order of version 1: ${path.join('.') || 'the file'}: ${message}`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('it is not JSON')
  }
}

const fileDivergence = (what: string): Divergence => ({ stream: 'file', revision: 0, what })

/** Checks the streams against each other and against the summary. */
function checkFile(file: OrderExport): readonly Divergence[] {
  const names = file.streams.map(({ stream }) => stream)
  const isKnownWhole = (category: string): boolean =>
    file.streams.some(({ stream, whole }) => stream === `${category}-${file.order}` && whole)
  const faults = [
    ...(new Set(names).size === names.length ? [] : ['it contains a stream twice']),
    ...([orderContract, quoteContract].some(({ category }) => isKnownWhole(category))
      ? []
      : ['it has neither the quote nor the order that it is about']),
    ...file.streams
      .filter(({ stream, whole }) => !whole && !isSharedStream(stream))
      .map(({ stream }) => `${stream} is not whole`),
    ...file.streams
      .filter(({ stream, whole }) => whole && isSharedStream(stream))
      .map(({ stream }) => `${stream} is said to be of this order alone`),
    ...findForeignStreams(file),
    ...(isInLogOrder(file.streams) ? [] : ['the positions of its facts are not those of one log']),
  ]
  const isSummaryRight = checkSafely(() => toCanonicalJson(summarise(file.streams)) === toCanonicalJson(file.summary))
  return [...faults, ...(isSummaryRight ? [] : ['its summary does not match its facts'])].map(fileDivergence)
}

/** Finds streams that have valid hashes but belong to another order. */
function findForeignStreams({ order, streams }: OrderExport): readonly string[] {
  const own = new Set(ownCategories.map((category) => `${category}-${order}`))
  const referenced = findReferencedStreams(streams.filter(({ stream }) => own.has(stream)).flatMap(({ events }) => events))
  return streams.flatMap(({ stream, whole, events }) => {
    if (own.has(stream)) return []
    if (!referenced.has(stream)) return [`${stream} is no stream of this order`]
    const isPart = whole ? events.some((one) => isAboutOrder(order, one)) : events.every((one) => isAboutOrder(order, one))
    return isPart ? [] : [`${stream} has facts of other orders`]
  })
}

/** Checks that no position occurs twice, and that positions increase with the revisions of each stream. */
function isInLogOrder(streams: readonly ExportedStream[]): boolean {
  const positions = streams.flatMap(({ events }) => events.map(({ position }) => position))
  return (
    new Set(positions).size === positions.length &&
    streams.every(({ events }) =>
      events.every(({ position, revision }, n) => {
        const before = events[n - 1]
        return !before || (BigInt(before.position) < BigInt(position) && before.revision < revision)
      }),
    )
  )
}

const checkSafely = (check: () => boolean): boolean => {
  try {
    return check()
  } catch {
    return false // The check of the stream already reports an edited event that is not JSON.
  }
}

const toStoredEvent = (
  { stream }: ExportedStream,
  { previous: _, position, ...event }: ExportedStream['events'][number],
): StoredEvent => ({ ...event, stream, position: BigInt(position) })

function checkStream(aggregates: Aggregates, exported: ExportedStream): { readonly states: number; readonly wrong?: Divergence } {
  let folded: FoldedStream | undefined
  let states = 0
  for (const one of exported.events) {
    const event = toStoredEvent(exported, one)
    if (!one.meta.endsWith(`,"chain":"${computeExpectedChain(one.previous, event)}"}`))
      return {
        states,
        wrong: { stream: event.stream, revision: event.revision, what: 'the chain hash does not cover the event' },
      }
    if (!exported.whole) continue
    const aggregate = aggregateOf(aggregates, event)
    const step = isDivergence(aggregate) ? aggregate : foldChecked(aggregate, folded ?? emptyFold(aggregate), event)
    if (isDivergence(step)) return { states, wrong: step }
    if (step.meta.state !== undefined) states += 1
    folded = step
  }
  return folded?.open === undefined ? { states } : { states, wrong: missingStateHash(exported.stream, folded) }
}
