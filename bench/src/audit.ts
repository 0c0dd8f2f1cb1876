import { openStored } from '@penstock/platforms/stored.ts'
import { categoryOf, type EventStore, type StoredEvent } from '@penstock/ports/event-store.ts'
import { audit as auditStore } from '@penstock/runtime/audit.ts'
import { aggregatesOf, type Folded, stepOf, unfolded } from '@penstock/runtime/audit-fold.ts'
import { CHAIN_START, expectedChain, stateHash } from '@penstock/runtime/event-codec.ts'
import { audited } from '@penstock/standalone/services.ts'
import type { Row, Size, Subject } from './harness.ts'
import { storeOfSales } from './stores.ts'

const EVENTS = 1_000_000
const SLICES = 10
const PAGE = 500
const REFERENCE = 'JSON.parse of the same texts alone'

/** What is timed for every slice of the log, in milliseconds. */
type Times = Record<'parse' | 'audit' | 'read' | 'fold' | 'fold with states' | 'chain', number>

/** The audit of a store of finished sales, beside JSON.parse of its texts; slice by slice, so that both meet the same moments. */
export const audit: Subject = {
  name: 'audit',
  async run({ isQuick }: Size) {
    const events = isQuick ? 2000 : EVENTS
    const store = openStored(await storeOfSales(events))
    try {
      return rowsOf(await timesOf(store, Math.ceil(events / SLICES)))
    } finally {
      await store.close()
    }
  },
}

type Timed = { readonly events: number; readonly times: Times }

/**
 * One audit of the whole store. It is held up after every slice while everything else is timed with the events of this
 * slice; what that takes does not count as the audit's.
 */
async function timesOf(store: EventStore, sliceSize: number): Promise<readonly Timed[]> {
  const slices: Timed[] = []
  const [bare, hashing] = [folder(false), folder(true)]
  let slice: StoredEvent[] = []
  let since = performance.now()
  let reading = 0

  const judge = (): void => {
    const spent = performance.now() - since
    if (slice.length >= sliceSize) {
      const times = {
        parse: timed(() => slice.forEach(parse)),
        audit: spent,
        read: reading,
        fold: timed(() => slice.forEach(bare)),
        'fold with states': timed(() => slice.forEach(hashing)),
        chain: timed(() => slice.forEach((event) => expectedChain(CHAIN_START, event))),
      }
      slices.push({ events: slice.length, times })
      slice = []
      reading = 0
      since = performance.now()
    }
  }
  const held: Pick<EventStore, 'read' | 'readAll'> = {
    read: (...asked) => store.read(...asked),
    async readAll(after) {
      judge()
      const began = performance.now()
      const page = await store.readAll(after, PAGE)
      reading += performance.now() - began
      slice.push(...page)
      return page
    },
  }
  const report = await auditStore(held, audited())
  if (report.divergences > 0 || !report.ledger_balanced) throw new Error(`the store is not whole: ${JSON.stringify(report)}`)
  // The first slice compiles the code.
  return slices.slice(1)
}

function timed(work: () => void): number {
  const began = performance.now()
  work()
  return performance.now() - began
}

function parse({ data, meta }: StoredEvent): void {
  JSON.parse(data)
  JSON.parse(meta)
}

/** Folds every stream as the audit does, and derives the hashes of its states or leaves them. */
function folder(hashed: boolean): (event: StoredEvent) => void {
  const aggregates = aggregatesOf(audited())
  const streams = new Map<string, Folded>()
  return (event) => {
    const aggregate = aggregates.get(categoryOf(event.stream))
    if (!aggregate) throw new Error(`nobody owns ${event.stream}`)
    const { meta, state, revision, chain } = stepOf(aggregate, streams.get(event.stream) ?? unfolded(aggregate), event)
    streams.set(event.stream, { state, revision, chain })
    const { version, of } = aggregate.hashed
    if (hashed && meta.state !== undefined && stateHash(version, of[version]?.(state)) !== meta.state)
      throw new Error(`${event.stream} has another state`)
  }
}

function rowsOf(slices: readonly Timed[]): readonly Row[] {
  const row = (what: string, spent: (times: Times) => number, target?: number): Row => ({
    what,
    unit: 'events/s',
    figures: slices.map(({ events, times }) => (events * 1000) / spent(times)),
    reference: { name: REFERENCE, figures: slices.map(({ events, times }) => (events * 1000) / times.parse) },
    ratios: slices.map(({ times }) => times.parse / spent(times)),
    ...(target !== undefined && { target }),
  })
  return [
    row('audit of 1,000,000 events, all hashes', ({ audit }) => audit),
    row('audit, without the chain hash', ({ audit, chain }) => audit - chain, 0.5),
    row('of it: reading the store', ({ read }) => read),
    row('of it: parsing and folding', ({ fold }) => fold),
    row('of it: the hashes of states', (times) => times['fold with states'] - times.fold),
    row('of it: the chain hash', ({ chain }) => chain),
  ]
}
