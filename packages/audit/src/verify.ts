import { setImmediate as nextTurn } from 'node:timers/promises'
import { Bug } from '@penstock/kernel/result.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { createHeadComparison, type HeadsReport } from './compare-heads.ts'
import {
  indexAggregates,
  foldChecked,
  type Divergence,
  type Findings,
  type FoldedStream,
  createFoldCache,
  isDivergence,
  aggregateOf,
  missingStateHash,
  WHOLE_LOG,
} from './fold.ts'
import type { LogHeadReader } from './heads.ts'
import { createLedgerCheck } from './ledger-check.ts'
import type { Aggregate, Service } from '@penstock/runtime/service.ts'

/**
 * The result of an audit. `findings`: the first divergence of each stream from its own hashes or the log heads, and all
 * faults of the log as a whole. `divergences` is their number, and `first` is the first of them.
 */
export type AuditReport = {
  readonly streams: number
  readonly events: number
  readonly divergences: number
  readonly ledger_balanced: boolean
  readonly first: Divergence | null
  readonly findings: readonly Divergence[]
  /** Present only if the audit got heads or a note for a comparison. */
  readonly log?: HeadsReport
}

export type AuditOptions = {
  readonly heads?: LogHeadReader
  /** The note of an earlier audit, stored outside this machine. */
  readonly note?: string
  /** Faults that the store itself finds in its tables. */
  readonly storeFaults?: readonly Divergence[]
}

const PAGE = 500
/** A busy market always has more events, so an audit ends after this number of consecutive pages that are not full. */
const MAX_SHORT_PAGES = 10

/**
 * Reads the whole log once. It checks that revisions have no gap, that chain hashes cover the stored bytes, and that today's
 * code derives the hashed states. It also compares the log with its heads, and checks that ledger postings add up to zero.
 * Memory does not grow with the store.
 */
export async function verifyLog(
  store: Pick<EventStore, 'readAll' | 'read'>,
  services: readonly Service<never>[],
  options: AuditOptions = {},
): Promise<AuditReport> {
  const findings = createFindings()
  const { heads, note, storeFaults = [] } = options
  for (const fault of storeFaults) findings.report(fault)
  const log = heads || note !== undefined ? await createHeadComparison(heads ?? NO_HEADS, note, findings) : undefined
  const streams = createStreamCheck(store, services, findings)
  const ledger = createLedgerCheck()
  let events = 0
  let after: bigint | 'start' = 'start'
  let short = 0
  let isReadable = true
  for (;;) {
    const page: readonly StoredEvent[] | string = await readPageAfter(store, after)
    if (typeof page === 'string') {
      findings.report({ stream: WHOLE_LOG, revision: events, what: page })
      isReadable = false
      break
    }
    for (const event of page) {
      ledger.add(event)
      const check = streams.check(event)
      if (check) await check
      if (log?.isDue(event)) await log.closeUpTo(event.position)
      log?.add(event)
    }
    events += page.length
    after = page.at(-1)?.position ?? after
    short = page.length < PAGE ? short + 1 : 0
    const isEnd = page.length === 0 || short >= MAX_SHORT_PAGES
    if (isEnd && (await log?.hasMoreHeads()) !== true) break
    // Lets a market in the same process run.
    await nextTurn()
  }
  if (isReadable) streams.end()
  const compared = await log?.end(isReadable)
  return {
    streams: streams.count(),
    events,
    divergences: findings.all().length,
    ledger_balanced: ledger.isBalanced(),
    first: findings.all()[0] ?? null,
    findings: findings.all(),
    ...(compared && { log: compared }),
  }
}

/** @returns the page, or an error message if the store throws a Bug about its data */
async function readPageAfter(
  store: Pick<EventStore, 'readAll'>,
  after: bigint | 'start',
): Promise<readonly StoredEvent[] | string> {
  try {
    return await store.readAll(after, PAGE)
  } catch (error) {
    if (!(error instanceof Bug)) throw error
    return `the store cannot be read ${after === 'start' ? 'from its beginning' : `after position ${after}`}: ${error.message}`
  }
}

const NO_HEADS: LogHeadReader = {
  key: undefined,
  async *lines() {
    // The log is compared only with a note.
  },
}

/** Stores only the first divergence of each stream, because later events of the stream prove nothing. */
function createFindings() {
  const broken = new Set<string>()
  const all: Divergence[] = []
  const isNew = ({ stream }: Divergence): boolean => stream === WHOLE_LOG || !broken.has(stream)
  return {
    report(divergence: Divergence): void {
      if (!isNew(divergence)) return
      broken.add(divergence.stream)
      all.push(divergence)
    },
    /** Puts a finding that explains all others first. */
    reportFirst(divergence: Divergence): void {
      broken.add(divergence.stream)
      all.unshift(divergence)
    },
    isBroken: (stream: string): boolean => broken.has(stream),
    all: (): readonly Divergence[] => all,
  }
}

function createStreamCheck(store: Pick<EventStore, 'read'>, services: readonly Service<never>[], { report, isBroken }: Findings) {
  const aggregates = indexAggregates(services)
  const foldCache = createFoldCache(store)
  let count = 0
  /** Revisions of streams whose last read event is in the middle of an append, by stream. */
  const open = new Map<string, number>()
  const recordStep = ({ stream }: StoredEvent, step: FoldedStream | Divergence): void => {
    if (isDivergence(step)) {
      foldCache.drop(stream)
      open.delete(stream)
      return report(step)
    }
    foldCache.keep(stream, step)
    if (step.open !== undefined) open.set(stream, step.revision)
    else if (open.size > 0) open.delete(stream)
  }
  const checkEvent = (aggregate: Aggregate<never>, before: FoldedStream | Divergence, event: StoredEvent): void =>
    recordStep(event, isDivergence(before) ? before : foldChecked(aggregate, before, event))
  return {
    count: (): number => count,
    /** Reports streams that end in the middle of an append, because an append is atomic. */
    end: (): void => open.forEach((revision, stream) => report(missingStateHash(stream, { revision }))),
    /** @returns a promise only if the stream has to be read first, which is rare */
    check(event: StoredEvent): Promise<void> | void {
      if (isBroken(event.stream)) return
      if (event.revision === 0) count += 1
      const aggregate = aggregateOf(aggregates, event)
      if (isDivergence(aggregate)) return recordStep(event, aggregate)
      const kept = foldCache.kept(aggregate, event)
      if (kept) return checkEvent(aggregate, kept, event)
      return foldCache.readBefore(aggregate, event).then((before) => checkEvent(aggregate, before, event))
    },
  }
}
