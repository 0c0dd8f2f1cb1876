import { systemClock } from '@penstock/adapters/system/clock.ts'
import { openHeads } from '@penstock/platforms/audit-files.ts'
import { openStored, type Stored } from '@penstock/platforms/stored.ts'
import { categoryOf, type EventStore, type StoredEvent } from '@penstock/ports/event-store.ts'
import { aggregatesOf, type Folded, stepOf, unfolded } from '@penstock/runtime/audit-fold.ts'
import { NO_HEAD, segment } from '@penstock/runtime/audit-heads.ts'
import { keepHeads } from '@penstock/runtime/audit-keep.ts'
import { CHAIN_START, expectedChain, stateHash } from '@penstock/runtime/event-codec.ts'
import { lru } from '@penstock/runtime/lru.ts'
import { openLog } from '@penstock/runtime/log.ts'
import { verifyStore } from '@penstock/standalone/audit.ts'
import { audited } from '@penstock/standalone/services.ts'
import { compare, type Row, type Size, type Subject } from './harness.ts'
import { storeOfSales } from './stores.ts'

const EVENTS = 1_000_000
const ROUNDS = 7
const PAGE = 500
/** As many as the audit keeps. */
const FOLDS_KEPT = 4096

const PARTS = {
  read: 'reading the store',
  fold: 'parsing and folding',
  states: 'the hashes of states',
  chain: 'the chain hashes',
  heads: "the log heads' rolling hash",
  tables: 'the tables beside the events',
} as const
type Parts = Record<keyof typeof PARTS, number>
type Store = Pick<EventStore, 'read' | 'readAll'>

/** The audit of a whole store of finished sales, again and again, each time between two times JSON.parse of all its texts. */
export const audit: Subject = {
  name: 'audit',
  async run({ isQuick }: Size) {
    const events = isQuick ? 2000 : EVENTS
    const folder = await storeOfSales(events)
    const store = openStored(folder)
    try {
      await writeHeads(folder, store)
      // The code is compiled when the measuring begins.
      await partsOf(store)
      return await rowsOf(folder, store, isQuick ? 1 : ROUNDS)
    } finally {
      await store.close()
    }
  },
}

async function rowsOf(folder: string, store: Stored, rounds: number): Promise<readonly Row[]> {
  const wholes: number[] = []
  const parts: Parts[] = []
  const compared = await compare({
    rows: [
      { what: 'audit of 1,000,000 events, all hashes', unit: 'events/s' },
      { what: 'the same less its chain hashes, a difference', unit: 'events/s', target: 0.5 },
    ],
    async measure() {
      const { events, spentMs } = await wholeAudit(folder)
      const part = await partsOf(store)
      wholes.push((spentMs * 1000) / events)
      parts.push(part)
      return [(events * 1000) / spentMs, (events * 1000) / (spentMs - (part.chain * events) / 1000)]
    },
    reference: { name: 'JSON.parse of the same texts alone', measure: () => parsing(store) },
    rounds,
  })
  const step = (what: string, figures: readonly number[]): Row => ({
    what: `of the audit: ${what}`,
    unit: 'µs/event',
    figures,
    ratios: figures.map((figure, round) => figure / (wholes[round] ?? Number.NaN)),
    reference: { name: 'the whole audit', figures: wholes },
  })
  const names = Object.keys(PARTS) as (keyof Parts)[] // exactly these
  const rest = parts.map((part, round) => (wholes[round] ?? Number.NaN) - names.reduce((sum, name) => sum + part[name], 0))
  return [
    ...compared,
    ...names.map((name) =>
      step(
        PARTS[name],
        parts.map((part) => part[name]),
      ),
    ),
    step('everything else', rest),
  ]
}

/** As a market does that catches up: one for every 10,000 events. */
async function writeHeads(folder: string, store: Store): Promise<void> {
  const heads = await openHeads(folder)
  if ((await heads.last()) !== undefined) return
  await keepHeads({ store, heads, clock: systemClock, log: openLog('error') }, AbortSignal.abort())
}

/** What `penstock audit verify --store` does. */
async function wholeAudit(folder: string): Promise<{ readonly events: number; readonly spentMs: number }> {
  const began = performance.now()
  const report = await verifyStore(folder)
  const spentMs = performance.now() - began
  if (report.divergences > 0 || !report.ledger_balanced) throw new Error(`the store is not whole: ${JSON.stringify(report)}`)
  if (report.log?.events_after !== 0) throw new Error('its heads do not reach to its end')
  return { events: report.events, spentMs }
}

/** What a page costs to read is not counted. @returns events a second, beside each of the two rows */
async function parsing(store: Store): Promise<readonly number[]> {
  let [events, spentMs] = [0, 0]
  for await (const page of pagesOf(store)) {
    spentMs += timed(() => page.forEach(parse))
    events += page.length
  }
  return [(events * 1000) / spentMs, (events * 1000) / spentMs]
}

/** Each part of the audit by itself, page by page. @returns microseconds an event */
async function partsOf(store: Stored): Promise<Parts> {
  const spentMs = { read: 0, fold: 0, states: 0, chain: 0, heads: 0, tables: 0 }
  let events = 0
  const [fold, open] = [folder(), segment(NO_HEAD)]
  let began = performance.now()
  for await (const page of pagesOf(store)) {
    spentMs.read += performance.now() - began
    let folded: readonly Hashed[] = []
    spentMs.fold += timed(() => (folded = page.map(fold)))
    spentMs.states += timed(() => folded.forEach(checkState))
    spentMs.chain += timed(() => page.forEach((event) => expectedChain(CHAIN_START, event)))
    spentMs.heads += timed(() => page.forEach((event) => open.add(event)))
    events += page.length
    began = performance.now()
  }
  began = performance.now()
  await store.faults()
  spentMs.tables = performance.now() - began
  const names = Object.keys(spentMs) as (keyof Parts)[] // exactly these
  return Object.fromEntries(names.map((name) => [name, (spentMs[name] * 1000) / events])) as Parts
}

async function* pagesOf(store: Store): AsyncGenerator<readonly StoredEvent[]> {
  for (let after: bigint | 'start' = 'start'; ;) {
    const page: readonly StoredEvent[] = await store.readAll(after, PAGE)
    const last = page.at(-1)
    if (!last) return
    yield page
    after = last.position
  }
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

/** A state, its version and projection, and the hash that was recorded of it. */
type Hashed = {
  readonly state: unknown
  readonly version: number
  readonly project: ((state: never) => unknown) | undefined
  readonly recorded: string | undefined
}

/** Folds every stream as the audit does, without any hash. */
function folder(): (event: StoredEvent) => Hashed {
  const aggregates = aggregatesOf(audited())
  const streams = lru<string, Folded>(FOLDS_KEPT)
  return (event) => {
    const aggregate = aggregates.get(categoryOf(event.stream))
    if (!aggregate) throw new Error(`nobody owns ${event.stream}`)
    const { meta, state, revision, chain } = stepOf(aggregate, streams.get(event.stream) ?? unfolded(aggregate), event)
    streams.set(event.stream, { state, revision, chain })
    const { version, of } = aggregate.hashed
    return { state, version, project: of[version], recorded: meta.state }
  }
}

function checkState({ state, version, project, recorded }: Hashed): void {
  if (recorded !== undefined && stateHash(version, project?.(state as never)) !== recorded)
    // its own aggregate's
    throw new Error('a stream has another state than was recorded')
}
