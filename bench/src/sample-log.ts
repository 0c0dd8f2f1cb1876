import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { contractOf } from '@penstock/contracts/contracts.ts'
import type { Fact } from '@penstock/kernel/message.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { NewEvent } from '@penstock/ports/event-store.ts'
import { indexAggregates } from '@penstock/audit/fold.ts'
import { CHAIN_START, readFact, type EventMeta, readMeta, sealFacts, hashState } from '@penstock/runtime/commands/event-codec.ts'
import { createStreamServices } from '@penstock/standalone/registry.ts'

/** The append of one command's events to a stream. Their metadata has the state and chain hashes that the market records. */
export type LogAppend = { readonly stream: string; readonly expected: 'none' | number; readonly events: readonly NewEvent[] }

type SaleStep = { readonly stream: string; readonly facts: readonly { readonly fact: Fact; readonly meta: EventMeta }[] }
type ExportedStream = { readonly stream: string; readonly events: readonly (NewEvent & { readonly position: string })[] }

const GOLDEN = new URL('../../services/standalone/golden/sale.json', import.meta.url)
/** Number of concurrent orders. As in a market, their facts are interleaved in the log. */
const CONCURRENT_ORDERS = 16

const { order: ORDER, streams: STREAMS } = JSON.parse(readFileSync(GOLDEN, 'utf8')) as {
  readonly order: string
  readonly streams: readonly ExportedStream[]
}
const findStreamOf = (category: string): string => STREAMS.find(({ stream }) => categoryOf(stream) === category)?.stream ?? ''
/** The ids that each copy of the sale replaces: of the order, its payout and its funding. */
const OWN_IDS = [ORDER, findStreamOf('payhash').slice('payhash-'.length), findStreamOf('outpoint').slice('outpoint-'.length, -2)]

/** The sale of the golden file, in the order of the log, and the end of its channel lease, which finishes the order. */
const SALE_STEPS: readonly SaleStep[] = [...toSaleSteps(STREAMS), ...createLeaseEndSteps()]

function toSaleSteps(streams: readonly ExportedStream[]): readonly SaleStep[] {
  const events = streams.flatMap(({ stream, events: own }) => own.map((event) => ({ ...event, stream })))
  const steps: { stream: string; facts: { fact: Fact; meta: EventMeta }[] }[] = []
  const open = new Map<string, (typeof steps)[number]>()
  for (const { stream, type, data, meta: text } of events.toSorted((a, b) => Number(a.position) - Number(b.position))) {
    const meta = readMeta({ meta: text })
    const step = open.get(stream) ?? { stream, facts: [] }
    if (step.facts.push({ fact: toCurrentFact(stream, { type, data }, meta.v), meta }) === 1) steps.push(step)
    // The last event of an append has the state's hash.
    if (meta.state === undefined) open.set(stream, step)
    else open.delete(stream)
  }
  return steps
}

/** Upcasts a fact to the current version. */
function toCurrentFact(stream: string, { type, data }: { readonly type: string; readonly data: string }, version = 1): Fact {
  return readFact(contractOf(categoryOf(stream)), { id: '', type, data, meta: '' }, version)
}

/** The golden sale ends when its channel lease of a month starts. These steps end that lease. */
function createLeaseEndSteps(): readonly SaleStep[] {
  const last = STREAMS.flatMap(({ events }) => events).at(-1)
  if (!last) return []
  const meta = readMeta(last)
  const createEndStep = (category: string, type: string, data: object): SaleStep => ({
    stream: findStreamOf(category),
    facts: [{ fact: toCurrentFact(findStreamOf(category), { type, data: JSON.stringify(data) }), meta }],
  })
  const outpoint = findStreamOf('outpoint').slice('outpoint-'.length)
  return [
    createEndStep('channel', 'LeaseEnded', { outpoint, early: false, closedBy: null, spentBy: null, tipHeight: 4500 }),
    createEndStep('order', 'MonitoringFinished', { attempt: 1, early: false, closedBy: null }),
  ]
}

/** Creates the first facts of the sale's offer and of its seller. */
function createFirstSteps(): readonly SaleStep[] {
  const [offer, seller] = [findStreamOf('offer'), findStreamOf('seller')]
  const placed = SALE_STEPS.flatMap(({ facts }) => facts).find(({ fact }) => fact.type === 'OrderPlaced')
  if (!placed) throw new Error('the golden sale has no order')
  const { candidate } = placed.fact.data as { candidate: { sellerAccountId: string; sellerPubkey: string; promises: object } } // OrderPlaced's data
  const { sellerAccountId: accountId, sellerPubkey: pubkey, promises } = candidate
  const terms = { totalSizeSat: '900000000000000', minSizeSat: '100000', maxSizeSat: '16000000', promises, conditions: [] }
  const createStep = (stream: string, type: string, data: object): SaleStep => ({
    stream,
    facts: [{ fact: toCurrentFact(stream, { type, data: JSON.stringify(data) }), meta: placed.meta }],
  })
  return [
    createStep(offer, 'OfferCreated', { ...terms, assetId: null, autoAccept: true, accountId, pubkey }),
    createStep(seller, 'SellerAppeared', { accountId, confirmedSat: '900000000000', at: placed.meta.at }),
  ]
}

/** Copies a step for another order: replaces each of the order's own ids wherever it occurs. */
function copyStep({ stream, facts }: SaleStep, copy: number): SaleStep {
  const own = OWN_IDS.map((id, index) => replaceHexDigits(id, hash('sha256', `${copy}/${index}`)))
  const replaceIds = (text: string): string =>
    OWN_IDS.reduce((replaced, id, index) => replaced.replaceAll(id, own[index] ?? id), text)
  return { stream: replaceIds(stream), facts: JSON.parse(replaceIds(JSON.stringify(facts))) as SaleStep['facts'] } // only ids differ
}

/** Replaces the hex digits of an id. A UUID keeps its version and variant. */
const replaceHexDigits = (id: string, hexDigits: string): string =>
  id.length === 36 ? `${id.slice(0, 15)}${hexDigits.slice(0, 3)}-8${hexDigits.slice(3, 6)}-${hexDigits.slice(6, 18)}` : hexDigits

/**
 * Generates at least `events` events of finished sales, as a market stores them. The sales are copies of the golden sale,
 * hashed and chained by the current code. All of them share one offer and one seller.
 */
export function* generateSampleLog(events: number): Generator<LogAppend> {
  const aggregates = indexAggregates(createStreamServices())
  const streams = new Map<string, { state: unknown; revision: number; chain: string }>()
  let [eventCount, command] = [0, 0]

  function appendStep({ stream, facts }: SaleStep): LogAppend {
    const aggregate = aggregates.get(categoryOf(stream))
    if (!aggregate) throw new Error(`no service owns ${stream}`)
    const previous = streams.get(stream) ?? { state: aggregate.decider.initial, revision: -1, chain: CHAIN_START }
    const state = facts.reduce((folded, { fact }) => aggregate.decider.evolve(folded, fact), previous.state)
    const { version, projections } = aggregate.hashed
    const sealed = sealFacts(
      { stream, revision: previous.revision + 1, chain: previous.chain },
      facts.map(({ fact, meta: { at, correlation, trace } }, index) => ({
        id: deriveId(command, index),
        fact,
        meta: {
          command: deriveId(command, 'command'),
          at,
          correlation,
          trace,
          ...(index === facts.length - 1 && { state: hashState(version, projections[version]?.(state)) }),
        },
      })),
    )
    command += 1
    eventCount += facts.length
    streams.set(stream, { state, revision: previous.revision + facts.length, chain: sealed.chain })
    return { stream, expected: previous.revision < 0 ? 'none' : previous.revision, events: sealed.events }
  }
  for (const step of createFirstSteps()) yield appendStep(step)
  for (let copy = 0; eventCount < events; copy += CONCURRENT_ORDERS) {
    for (const step of SALE_STEPS) for (let n = 0; n < CONCURRENT_ORDERS; n++) yield appendStep(copyStep(step, copy + n))
    // A finished order gets no more facts, so only the shared streams are kept.
    for (const stream of streams.keys()) if (!['offer', 'seller'].includes(categoryOf(stream))) streams.delete(stream)
  }
}

/** Derives an event's or a command's id from their numbers, in the form of a UUID. */
function deriveId(command: number, part: number | string): string {
  const text = hash('sha256', `${command}/${part}`)
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-5${text.slice(12, 15)}-8${text.slice(15, 18)}-${text.slice(18, 30)}`
}
