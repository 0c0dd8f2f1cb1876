import { systemClock } from '@penstock/adapters/system/clock.ts'
import { openLogHeads } from '@penstock/audit/head-files.ts'
import { openLocalStore, type OpenedStore } from '@penstock/platforms/open-store.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { indexAggregates, type FoldedStream, foldEvent, emptyFold } from '@penstock/audit/fold.ts'
import { NO_HEAD, openSegment } from '@penstock/audit/heads.ts'
import { runHeadWriter } from '@penstock/audit/head-writer.ts'
import { CHAIN_START, computeExpectedChain, hashState } from '@penstock/runtime/commands/event-codec.ts'
import { LRUCache } from 'lru-cache'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import { verifyStore } from '@penstock/standalone/audit.ts'
import { createStreamServices } from '@penstock/standalone/registry.ts'
import { compareToReference, type BenchmarkRow, type BenchmarkSize, type Benchmark } from '../harness.ts'
import { prepareSampleStore } from '../sample-stores.ts'

const EVENTS = 1_000_000
const ROUNDS = 7
const PAGE = 500
/** The number of folded streams in the cache. The audit's own cache has the same size. */
const CACHED_FOLDS = 4096

const PART_TITLES = {
  read: 'reading the store',
  fold: 'parsing and folding',
  states: 'the hashes of states',
  chain: 'the chain hashes',
  heads: "the log heads' rolling hash",
  tables: 'the tables beside the events',
} as const
type PartTimes = Record<keyof typeof PART_TITLES, number>
type Store = Pick<EventStore, 'read' | 'readAll'>

/** Compares the audit of a whole store of finished sales with JSON.parse of all texts in that store. */
export const auditBenchmark: Benchmark = {
  name: 'audit',
  async run({ isQuick }: BenchmarkSize) {
    const events = isQuick ? 2000 : EVENTS
    const folder = await prepareSampleStore(events)
    const store = openLocalStore(folder)
    try {
      await writeHeads(folder, store)
      // Lets V8 compile the code before the measurement.
      await measureParts(store)
      return await measureRows(folder, store, isQuick ? 1 : ROUNDS)
    } finally {
      await store.close()
    }
  },
}

async function measureRows(folder: string, store: OpenedStore, rounds: number): Promise<readonly BenchmarkRow[]> {
  const auditTimes: number[] = []
  const parts: PartTimes[] = []
  const compared = await compareToReference({
    rows: [
      { description: 'audit of 1,000,000 events, all hashes', unit: 'events/s' },
      { description: 'the same less its chain hashes, a difference', unit: 'events/s', target: 0.5 },
    ],
    async measure() {
      const { events, spentMs } = await measureWholeAudit(folder)
      const part = await measureParts(store)
      auditTimes.push((spentMs * 1000) / events)
      parts.push(part)
      return [(events * 1000) / spentMs, (events * 1000) / (spentMs - (part.chain * events) / 1000)]
    },
    reference: { name: 'JSON.parse of the same texts alone', measure: () => measureParsing(store) },
    rounds,
  })
  const step = (description: string, figures: readonly number[]): BenchmarkRow => ({
    description: `of the audit: ${description}`,
    unit: 'µs/event',
    figures,
    ratios: figures.map((figure, round) => figure / (auditTimes[round] ?? Number.NaN)),
    reference: { name: 'the whole audit', figures: auditTimes },
  })
  const names = Object.keys(PART_TITLES) as (keyof PartTimes)[] // PART_TITLES has exactly these keys
  const otherTimes = parts.map(
    (part, round) => (auditTimes[round] ?? Number.NaN) - names.reduce((sum, name) => sum + part[name], 0),
  )
  return [
    ...compared,
    ...names.map((name) =>
      step(
        PART_TITLES[name],
        parts.map((part) => part[name]),
      ),
    ),
    step('everything else', otherTimes),
  ]
}

/** Writes one log head per 10,000 events, as a market does while it catches up. */
async function writeHeads(folder: string, store: Store): Promise<void> {
  const heads = await openLogHeads(folder)
  if ((await heads.last()) !== undefined) return
  await runHeadWriter({ store, heads, clock: systemClock, log: openLogger('error') }, AbortSignal.abort())
}

/** Runs the verification of `penstock audit verify --store`. @throws Error if the store is damaged or its heads are incomplete */
async function measureWholeAudit(folder: string): Promise<{ readonly events: number; readonly spentMs: number }> {
  const startedAt = performance.now()
  const report = await verifyStore(folder)
  const spentMs = performance.now() - startedAt
  if (report.divergences > 0 || !report.ledger_balanced) throw new Error(`the audit found faults: ${JSON.stringify(report)}`)
  if (report.log?.events_after !== 0) throw new Error('the log heads do not cover the end of the store')
  return { events: report.events, spentMs }
}

/** Times JSON.parse of all events, without the reads. @returns events per second, once for each of the two rows */
async function measureParsing(store: Store): Promise<readonly number[]> {
  let [events, spentMs] = [0, 0]
  for await (const page of readPages(store)) {
    spentMs += measureMs(() => page.forEach(parseEvent))
    events += page.length
  }
  return [(events * 1000) / spentMs, (events * 1000) / spentMs]
}

/** Measures each part of the audit by itself, page by page. @returns microseconds per event */
async function measureParts(store: OpenedStore): Promise<PartTimes> {
  const spentMs = { read: 0, fold: 0, states: 0, chain: 0, heads: 0, tables: 0 }
  let events = 0
  const [fold, headSegment] = [createStreamFolder(), openSegment(NO_HEAD)]
  let startedAt = performance.now()
  for await (const page of readPages(store)) {
    spentMs.read += performance.now() - startedAt
    let folded: readonly HashedState[] = []
    spentMs.fold += measureMs(() => (folded = page.map(fold)))
    spentMs.states += measureMs(() => folded.forEach(checkState))
    spentMs.chain += measureMs(() => page.forEach((event) => computeExpectedChain(CHAIN_START, event)))
    spentMs.heads += measureMs(() => page.forEach((event) => headSegment.add(event)))
    events += page.length
    startedAt = performance.now()
  }
  startedAt = performance.now()
  await store.findFaults()
  spentMs.tables = performance.now() - startedAt
  const names = Object.keys(spentMs) as (keyof PartTimes)[] // spentMs has exactly these keys
  return Object.fromEntries(names.map((name) => [name, (spentMs[name] * 1000) / events])) as PartTimes
}

async function* readPages(store: Store): AsyncGenerator<readonly StoredEvent[]> {
  for (let after: bigint | 'start' = 'start'; ;) {
    const page: readonly StoredEvent[] = await store.readAll(after, PAGE)
    const last = page.at(-1)
    if (!last) return
    yield page
    after = last.position
  }
}

function measureMs(run: () => void): number {
  const startedAt = performance.now()
  run()
  return performance.now() - startedAt
}

function parseEvent({ data, meta }: StoredEvent): void {
  JSON.parse(data)
  JSON.parse(meta)
}

/** A state, its version and projection, and its recorded hash. */
type HashedState = {
  readonly state: unknown
  readonly version: number
  readonly project: ((state: never) => unknown) | undefined
  readonly recorded: string | undefined
}

/** Creates a function that folds every stream as the audit does, but computes no hash. */
function createStreamFolder(): (event: StoredEvent) => HashedState {
  const aggregates = indexAggregates(createStreamServices())
  const streams = new LRUCache<string, FoldedStream>({ max: CACHED_FOLDS })
  return (event) => {
    const aggregate = aggregates.get(categoryOf(event.stream))
    if (!aggregate) throw new Error(`no service owns ${event.stream}`)
    const { meta, state, revision, chain } = foldEvent(aggregate, streams.get(event.stream) ?? emptyFold(aggregate), event)
    streams.set(event.stream, { state, revision, chain })
    const { version, projections } = aggregate.hashed
    return { state, version, project: projections[version], recorded: meta.state }
  }
}

function checkState({ state, version, project, recorded }: HashedState): void {
  if (recorded !== undefined && hashState(version, project?.(state as never)) !== recorded)
    // The cast is safe because `project` belongs to the aggregate of this state.
    throw new Error('a state hash differs from the recorded one')
}
