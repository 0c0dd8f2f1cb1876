import type { EventStore } from '@penstock/ports/event-store.ts'
import { checkExport, type ExportCheckReport } from './check-export.ts'
import { exportOrder, type OrderExport } from './export-order.ts'
import type { Divergence } from './fold.ts'
import {
  type LogHead,
  type LogHeadStore,
  isSigned,
  NO_HEAD,
  type LogHeadReader,
  tryParseHead,
  findUnprovenReason,
} from './heads.ts'
import { ownCategories } from './order-streams.ts'
import { readMeta } from '@penstock/runtime/commands/event-codec.ts'
import type { Service } from '@penstock/runtime/service.ts'

/**
 * Compares an exported order with log heads. The author of a forged file can compute its hashes, but cannot sign heads.
 * Up to the file's own head, the file must contain every stream of the order that a head lists. The stream's last revision
 * and chain hash must be those of the head, at positions that the head covers.
 * The author of the file chose its head, so the report counts the streams that grew in later heads.
 */
export async function compareExport(
  file: OrderExport,
  { key, lines }: LogHeadReader,
): Promise<{ readonly log: NonNullable<ExportCheckReport['log']>; readonly divergences: readonly Divergence[] }> {
  const comparison = createExportComparison(file)
  const faults: Divergence[] = []
  let heads = 0
  let reached = NO_HEAD.position
  for await (const line of lines()) {
    heads += 1
    const head = tryParseHead(line)
    if (!head) {
      faults.push(headsDivergence(`line ${heads} of the log heads cannot be read`))
      break
    }
    if (key && !isSigned(key, line))
      faults.push(headsDivergence(`the log head at position ${head.position} is not signed by the audit key`))
    if (head.position !== NO_HEAD.position && head.from !== reached)
      faults.push(headsDivergence(`the log heads between position ${reached} and ${head.from} are gone`))
    reached = head.position
    faults.push(...comparison.with(head))
  }
  const signed = key !== undefined && heads > 0
  return {
    log: { heads, signed, unproven: findUnprovenReason({ heads, signed }), ...comparison.sum() },
    divergences: [...faults, ...comparison.end()],
  }
}

const toPosition = (position: string): bigint => (position === NO_HEAD.position ? 0n : BigInt(position))

const isCovered = ({ from, position }: LogHead, eventPosition: string): boolean =>
  BigInt(eventPosition) <= toPosition(position) && (from === NO_HEAD.position || BigInt(eventPosition) > BigInt(from))

const headsDivergence = (what: string): Divergence => ({ stream: 'log', revision: 0, what })

function createExportComparison(file: OrderExport) {
  const until = toPosition(file.head?.position ?? NO_HEAD.position)
  const streams = new Map(file.streams.map((stream) => [stream.stream, stream]))
  const own = new Set(ownCategories.map((category) => `${category}-${file.order}`))
  const uncovered = new Set(file.streams.filter(({ whole }) => whole).flatMap((one) => one.events))
  const later = new Set<string>()
  let isHeadMet = false

  function compareStream([name, first, last, chain]: LogHead['streams'][number], head: LogHead): Divergence | undefined {
    const stream = streams.get(name)
    const isBefore = toPosition(head.position) <= until
    const wrong = (what: string, revision = last): Divergence => ({ stream: name, revision, what })
    const since = new Date(head.at).toISOString()
    if (!stream && !own.has(name)) return undefined
    if (!stream) return isBefore ? wrong(`it was there at ${since}, and the file lacks it`) : markGoneOn(name)
    const moved = stream.events.find((one) => one.revision >= first && one.revision <= last && !isCovered(head, one.position))
    if (moved) return wrong(`its revision ${moved.revision} had another position at ${since}`, moved.revision)
    const event = stream.events.find(({ revision }) => revision === last)
    if (event && readMeta(event).chain !== chain) return wrong(`its revision ${last} was another at ${since}`)
    if (event || !stream.whole) return markCovered(stream.events, last)
    if (isBefore) return wrong(`its revision ${last} was there at ${since}, and the file lacks it`)
    return markGoneOn(name)
  }
  function markGoneOn(name: string): undefined {
    later.add(name)
  }
  function markCovered(events: OrderExport['streams'][number]['events'], last: number): undefined {
    for (const event of events) if (event.revision <= last) uncovered.delete(event)
  }
  return {
    with(head: LogHead): readonly Divergence[] {
      const { position, events, at, hash } = head
      const own = file.head
      if (own && own.position === position) isHeadMet = own.events === events && own.at === at && own.hash === hash
      return head.streams.flatMap((grown) => compareStream(grown, head) ?? [])
    },
    sum: () => ({ events_after: uncovered.size, gone_on: later.size }),
    /** A file without a head comes from a store without heads, so all events that the file lacks were appended later. */
    end: (): readonly Divergence[] =>
      isHeadMet || !file.head
        ? []
        : [headsDivergence(`the log head of the file, at position ${file.head.position}, is none of these`)],
  }
}

/**
 * Exports an order, and checks the file as its reader will check it.
 * @returns undefined if the order does not exist
 * @throws Error if the order's events do not match their hashes or the log heads, or its ledger does not balance
 */
export async function exportVerified(
  store: Pick<EventStore, 'read'>,
  services: readonly Service<never>[],
  orderId: string,
  at: number,
  heads: NewestHeads | undefined,
): Promise<OrderExport | undefined> {
  // The head is read before the order, so the store already contains all events that the head covers.
  const file = await exportOrder(store, orderId, at, await heads?.last())
  if (!file) return undefined
  const { divergences, ledger_balanced: isBalanced } = checkExport(JSON.stringify(file), services)
  const [wrong] = divergences
  if (wrong)
    throw new Error(`the order is not what its hashes say: ${wrong.stream} revision ${wrong.revision}: ${wrong.what}; ${VERIFY}`)
  if (!isBalanced) throw new Error(`the ledger of the order does not balance; ${VERIFY}`)
  // The file's head is null before the first head is written, for example after a restore. Then there is nothing to compare.
  if (!file.head || !heads) return file
  const [first] = (await compareExport(file, heads)).divergences
  if (first) throw new Error(`the store is not what its log heads say: ${first.stream}: ${first.what}; ${VERIFY}`)
  return file
}

type NewestHeads = LogHeadReader & Pick<LogHeadStore, 'last'>

const VERIFY = 'run "penstock audit verify"'
