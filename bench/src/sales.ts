import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { contractOf } from '@penstock/contracts/all.ts'
import type { Fact } from '@penstock/kernel/message.ts'
import { categoryOf, type NewEvent } from '@penstock/ports/event-store.ts'
import { aggregatesOf } from '@penstock/runtime/audit-fold.ts'
import { CHAIN_START, factOf, type Meta, metaOf, seal, stateHash } from '@penstock/runtime/event-codec.ts'
import { audited } from '@penstock/standalone/services.ts'

/** What one command adds to a stream: events that are sealed as the market seals them. */
export type Append = { readonly stream: string; readonly expected: 'none' | number; readonly events: readonly NewEvent[] }

type Step = { readonly stream: string; readonly facts: readonly { readonly fact: Fact; readonly meta: Meta }[] }
type Exported = { readonly stream: string; readonly events: readonly (NewEvent & { readonly position: string })[] }

const GOLDEN = new URL('../../services/standalone/golden/sale.json', import.meta.url)
/** Orders are under way side by side, as in a market, so that their facts lie between each other in the log. */
const SIDE_BY_SIDE = 16

const { order: ORDER, streams: STREAMS } = JSON.parse(readFileSync(GOLDEN, 'utf8')) as {
  readonly order: string
  readonly streams: readonly Exported[]
}
const inStream = (category: string): string => STREAMS.find(({ stream }) => categoryOf(stream) === category)?.stream ?? ''
/** Ids that are another order's own in a copy: of the order, its payout and its funding. */
const OWN = [ORDER, inStream('payhash').slice('payhash-'.length), inStream('outpoint').slice('outpoint-'.length, -2)]

/** The sale of the golden file, in the order of the log, and the end of its lease: a finished order. */
const SALE: readonly Step[] = [...stepsOf(STREAMS), ...ending()]

function stepsOf(streams: readonly Exported[]): readonly Step[] {
  const events = streams.flatMap(({ stream, events: own }) => own.map((event) => ({ ...event, stream })))
  const steps: { stream: string; facts: { fact: Fact; meta: Meta }[] }[] = []
  const open = new Map<string, (typeof steps)[number]>()
  for (const { stream, type, data, meta: text } of events.toSorted((a, b) => Number(a.position) - Number(b.position))) {
    const meta = metaOf({ meta: text })
    const step = open.get(stream) ?? { stream, facts: [] }
    if (step.facts.push({ fact: asToday(stream, { type, data }, meta.v), meta }) === 1) steps.push(step)
    // The last event of an append has the state's hash.
    if (meta.state === undefined) open.set(stream, step)
    else open.delete(stream)
  }
  return steps
}

/** In the shape in which today's code would write it. */
function asToday(stream: string, { type, data }: { readonly type: string; readonly data: string }, version = 1): Fact {
  return factOf(contractOf(categoryOf(stream)), { id: '', type, data, meta: '' }, version)
}

/** The golden sale goes on with a lease of a month, which these orders have behind them. */
function ending(): readonly Step[] {
  const last = STREAMS.flatMap(({ events }) => events).at(-1)
  if (!last) return []
  const meta = metaOf(last)
  const end = (category: string, type: string, data: object): Step => ({
    stream: inStream(category),
    facts: [{ fact: asToday(inStream(category), { type, data: JSON.stringify(data) }), meta }],
  })
  const outpoint = inStream('outpoint').slice('outpoint-'.length)
  return [
    end('channel', 'LeaseEnded', { outpoint, early: false, closedBy: null, spentBy: null, tipHeight: 4500 }),
    end('order', 'MonitoringFinished', { attempt: 1, early: false, closedBy: null }),
  ]
}

/** What the offer and the seller of the sale began with. */
function beginnings(): readonly Step[] {
  const [offer, seller] = [inStream('offer'), inStream('seller')]
  const placed = SALE.flatMap(({ facts }) => facts).find(({ fact }) => fact.type === 'OrderPlaced')
  if (!placed) throw new Error('the golden sale has no order')
  const { candidate } = placed.fact.data as { candidate: { sellerAccountId: string; sellerPubkey: string; promises: object } } // OrderPlaced
  const { sellerAccountId: accountId, sellerPubkey: pubkey, promises } = candidate
  const terms = { totalSizeSat: '900000000000000', minSizeSat: '100000', maxSizeSat: '16000000', promises, conditions: [] }
  const begin = (stream: string, type: string, data: object): Step => ({
    stream,
    facts: [{ fact: asToday(stream, { type, data: JSON.stringify(data) }), meta: placed.meta }],
  })
  return [
    begin(offer, 'OfferCreated', { ...terms, assetId: null, autoAccept: true, accountId, pubkey }),
    begin(seller, 'SellerAppeared', { accountId, confirmedSat: '900000000000', at: placed.meta.at }),
  ]
}

/** The same as another order's: every id that is its own is changed wherever it stands. */
function copyOf({ stream, facts }: Step, copy: number): Step {
  const own = OWN.map((id, index) => digits(id, hash('sha256', `${copy}/${index}`)))
  const changed = (text: string): string => OWN.reduce((changing, id, index) => changing.replaceAll(id, own[index] ?? id), text)
  return { stream: changed(stream), facts: JSON.parse(changed(JSON.stringify(facts))) as Step['facts'] } // it was just that
}

/** Other hex digits in the form of an id: its version and variant stay where it is a UUID. */
const digits = (id: string, others: string): string =>
  id.length === 36 ? `${id.slice(0, 15)}${others.slice(0, 3)}-8${others.slice(3, 6)}-${others.slice(6, 18)}` : others

/**
 * Finished sales as a market stores them, until there are so many events: all copies of the golden sale, hashed and
 * chained by today's code, with one offer and one seller for all of them.
 */
export function* sales(events: number): Generator<Append> {
  const aggregates = aggregatesOf(audited())
  const streams = new Map<string, { state: unknown; revision: number; chain: string }>()
  let [made, command] = [0, 0]

  function appended({ stream, facts }: Step): Append {
    const aggregate = aggregates.get(categoryOf(stream))
    if (!aggregate) throw new Error(`nobody owns ${stream}`)
    const before = streams.get(stream) ?? { state: aggregate.decider.initial, revision: -1, chain: CHAIN_START }
    const state = facts.reduce((folded, { fact }) => aggregate.decider.evolve(folded, fact), before.state)
    const { version, of } = aggregate.hashed
    const sealed = seal(
      { stream, revision: before.revision + 1, chain: before.chain },
      facts.map(({ fact, meta: { at, correlation, trace } }, index) => ({
        id: idOf(command, index),
        fact,
        meta: {
          command: idOf(command, 'command'),
          at,
          correlation,
          trace,
          ...(index === facts.length - 1 && { state: stateHash(version, of[version]?.(state)) }),
        },
      })),
    )
    command += 1
    made += facts.length
    streams.set(stream, { state, revision: before.revision + facts.length, chain: sealed.chain })
    return { stream, expected: before.revision < 0 ? 'none' : before.revision, events: sealed.events }
  }
  for (const step of beginnings()) yield appended(step)
  for (let copy = 0; made < events; copy += SIDE_BY_SIDE) {
    for (const step of SALE) for (let n = 0; n < SIDE_BY_SIDE; n++) yield appended(copyOf(step, copy + n))
    // What is finished has no more facts: only the shared streams go on.
    for (const stream of streams.keys()) if (!['offer', 'seller'].includes(categoryOf(stream))) streams.delete(stream)
  }
}

/** In the form of a UUID, as ids are in a store. */
function idOf(command: number, what: number | string): string {
  const text = hash('sha256', `${command}/${what}`)
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-5${text.slice(12, 15)}-8${text.slice(15, 18)}-${text.slice(18, 30)}`
}
