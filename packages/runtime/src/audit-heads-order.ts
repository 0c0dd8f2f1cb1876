import type { EventStore } from '@penstock/ports/event-store.ts'
import { checkExport, type CheckReport } from './audit-check.ts'
import { exportOrder, type OrderExport } from './audit-export.ts'
import type { Divergence } from './audit-fold.ts'
import { type Head, type HeadLog, isSigned, NO_HEAD, type ReadHeads, readHead, unprovenBy } from './audit-heads.ts'
import { OWN } from './audit-order.ts'
import { metaOf } from './event-codec.ts'
import type { Service } from './service.ts'

/**
 * Compares an exported order with log heads, kept elsewhere or beside the store: a file that only agrees with itself can
 * be made from nothing. Every stream of the order that a head names up to the file's own head has to be in the file, as
 * far as the head says and with its chain hash, which covers all that comes before it, and at positions that the head is
 * about. Which head is the file's own is said by whoever made it, so what later heads know beyond the file is counted.
 */
export async function compareExport(
  file: OrderExport,
  { key, lines }: ReadHeads,
): Promise<{ readonly log: NonNullable<CheckReport['log']>; readonly divergences: readonly Divergence[] }> {
  const compared = comparedWith(file)
  const faults: Divergence[] = []
  let heads = 0
  let reached = NO_HEAD.position
  for await (const line of lines()) {
    heads += 1
    const head = readHead(line)
    if (!head) {
      faults.push(ofHeads(`line ${heads} of the log heads cannot be read`))
      break
    }
    if (key && !isSigned(key, line))
      faults.push(ofHeads(`the log head at position ${head.position} is not signed by the audit key`))
    if (head.position !== NO_HEAD.position && head.from !== reached)
      faults.push(ofHeads(`the log heads between position ${reached} and ${head.from} are gone`))
    reached = head.position
    faults.push(...compared.with(head))
  }
  const signed = key !== undefined && heads > 0
  return {
    log: { heads, signed, unproven: unprovenBy({ heads, signed }), ...compared.sum() },
    divergences: [...faults, ...compared.end()],
  }
}

const placeOf = (position: string): bigint => (position === NO_HEAD.position ? 0n : BigInt(position))

const isWithin = ({ from, position }: Head, place: string): boolean =>
  BigInt(place) <= placeOf(position) && (from === NO_HEAD.position || BigInt(place) > BigInt(from))

const ofHeads = (what: string): Divergence => ({ stream: 'log', revision: 0, what })

function comparedWith(file: OrderExport) {
  const until = placeOf(file.head?.position ?? NO_HEAD.position)
  const streams = new Map(file.streams.map((stream) => [stream.stream, stream]))
  const own = new Set(OWN.map((category) => `${category}-${file.order}`))
  const uncovered = new Set(file.streams.filter(({ whole }) => whole).flatMap((one) => one.events))
  const later = new Set<string>()
  let isHeadMet = false

  function judged([name, first, last, chain]: Head['streams'][number], head: Head): Divergence | undefined {
    const stream = streams.get(name)
    const isBefore = placeOf(head.position) <= until
    const wrong = (what: string, revision = last): Divergence => ({ stream: name, revision, what })
    const since = new Date(head.at).toISOString()
    if (!stream && !own.has(name)) return undefined
    if (!stream) return isBefore ? wrong(`it was there at ${since}, and the file lacks it`) : goneOn(name)
    const moved = stream.events.find((one) => one.revision >= first && one.revision <= last && !isWithin(head, one.position))
    if (moved) return wrong(`its revision ${moved.revision} had another position at ${since}`, moved.revision)
    const event = stream.events.find(({ revision }) => revision === last)
    if (event && metaOf(event).chain !== chain) return wrong(`its revision ${last} was another at ${since}`)
    if (event || !stream.whole) return cover(stream.events, last)
    if (isBefore) return wrong(`its revision ${last} was there at ${since}, and the file lacks it`)
    return goneOn(name)
  }
  function goneOn(name: string): undefined {
    later.add(name)
  }
  function cover(events: OrderExport['streams'][number]['events'], last: number): undefined {
    for (const event of events) if (event.revision <= last) uncovered.delete(event)
  }
  return {
    with(head: Head): readonly Divergence[] {
      const { position, events, at, hash } = head
      const own = file.head
      if (own && own.position === position) isHeadMet = own.events === events && own.at === at && own.hash === hash
      return head.streams.flatMap((grown) => judged(grown, head) ?? [])
    },
    sum: () => ({ events_after: uncovered.size, gone_on: later.size }),
    /** A file without a head is of a store that had none: then all that it lacks has come later. */
    end: (): readonly Divergence[] =>
      isHeadMet || !file.head ? [] : [ofHeads(`the log head of the file, at position ${file.head.position}, is none of these`)],
  }
}

/**
 * Exports an order from a store that is, for this order, what its own hashes and heads say. The file is checked as its
 * reader will check it.
 * @returns undefined where there is no such order
 * @throws Error where it is not
 */
export async function exportProven(
  store: Pick<EventStore, 'read'>,
  services: readonly Service<never>[],
  orderId: string,
  at: number,
  heads: NewestHeads | undefined,
): Promise<OrderExport | undefined> {
  // The head first: what it is about is then in the store, whatever is appended meanwhile.
  const file = await exportOrder(store, orderId, at, await heads?.last())
  if (!file) return undefined
  const { divergences, ledger_balanced: isBalanced } = checkExport(JSON.stringify(file), services)
  const [wrong] = divergences
  if (wrong)
    throw new Error(`the order is not what its hashes say: ${wrong.stream} revision ${wrong.revision}: ${wrong.what}; ${VERIFY}`)
  if (!isBalanced) throw new Error(`the ledger of the order does not balance; ${VERIFY}`)
  // Where heads are yet to begin, as after a restore, there is nothing to compare with; the file says so.
  if (!file.head || !heads) return file
  const [first] = (await compareExport(file, heads)).divergences
  if (first) throw new Error(`the store is not what its log heads say: ${first.stream}: ${first.what}; ${VERIFY}`)
  return file
}

type NewestHeads = ReadHeads & Pick<HeadLog, 'last'>

const VERIFY = 'run "penstock audit verify"'
