import { setImmediate as nextTurn } from 'node:timers/promises'
import { Bug } from '@penstock/kernel/result.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { comparison, type HeadsReport } from './audit-compare.ts'
import {
  aggregatesOf,
  checkedStep,
  type Divergence,
  type Findings,
  type Folded,
  folds,
  isDivergence,
  ownerOf,
  unhashed,
  WHOLE_LOG,
} from './audit-fold.ts'
import type { ReadHeads } from './audit-heads.ts'
import { ledgerCheck } from './audit-ledger.ts'
import type { Aggregate, Service } from './service.ts'

/**
 * What an audit found. `findings`: of each stream the first place where it is not what its own hashes say, or what the log
 * heads know, and all that is wrong with the log as a whole. `divergences` counts them, and `first` is the first of them.
 */
export type AuditReport = {
  readonly streams: number
  readonly events: number
  readonly divergences: number
  readonly ledger_balanced: boolean
  readonly first: Divergence | null
  readonly findings: readonly Divergence[]
  /** Only where the audit was given heads or a note to compare with. */
  readonly log?: HeadsReport
}

export type AuditOptions = {
  readonly heads?: ReadHeads
  /** What an earlier audit called its note, kept outside of this machine. */
  readonly note?: string
  /** What the store itself finds wrong with its tables. */
  readonly storeFaults?: readonly Divergence[]
}

const PAGE = 500
/** A market that never pauses has always something more; what the end of its log was is read by then. */
const SHORT_PAGES = 10

/**
 * Reads the whole log once: the revisions of every stream have no gap, every chain hash covers the stored bytes, and today's
 * code derives the state that was hashed when the fact was appended. Beside it the log is compared with its heads, and
 * all ledger postings must add up to nothing. Memory does not grow with the store.
 */
export async function audit(
  store: Pick<EventStore, 'readAll' | 'read'>,
  services: readonly Service<never>[],
  options: AuditOptions = {},
): Promise<AuditReport> {
  const findings = collected()
  const { heads, note, storeFaults = [] } = options
  for (const fault of storeFaults) findings.found(fault)
  const log = heads || note !== undefined ? await comparison(heads ?? NO_HEADS, note, findings) : undefined
  const streams = streamCheck(store, services, findings)
  const ledger = ledgerCheck()
  let events = 0
  let after: bigint | 'start' = 'start'
  let short = 0
  let isReadable = true
  for (;;) {
    const page: readonly StoredEvent[] | string = await pageAfter(store, after)
    if (typeof page === 'string') {
      findings.found({ stream: WHOLE_LOG, revision: events, what: page })
      isReadable = false
      break
    }
    for (const event of page) {
      ledger.add(event)
      const looking = streams.check(event)
      if (looking) await looking
      if (log?.isDue(event)) await log.reach(event.position)
      log?.add(event)
    }
    events += page.length
    after = page.at(-1)?.position ?? after
    short = page.length < PAGE ? short + 1 : 0
    const isEnd = page.length === 0 || short >= SHORT_PAGES
    if (isEnd && (await log?.isGrown()) !== true) break
    // A running market goes on meanwhile.
    await nextTurn()
  }
  if (isReadable) streams.end()
  const compared = await log?.end(isReadable)
  return {
    streams: streams.count(),
    events,
    divergences: findings.all().length,
    ledger_balanced: ledger.balanced(),
    first: findings.all()[0] ?? null,
    findings: findings.all(),
    ...(compared && { log: compared }),
  }
}

/** @returns why there is none, where the store says that its data are not as they should be */
async function pageAfter(store: Pick<EventStore, 'readAll'>, after: bigint | 'start'): Promise<readonly StoredEvent[] | string> {
  try {
    return await store.readAll(after, PAGE)
  } catch (error) {
    if (!(error instanceof Bug)) throw error
    return `the store cannot be read ${after === 'start' ? 'from its beginning' : `after position ${after}`}: ${error.message}`
  }
}

const NO_HEADS: ReadHeads = {
  key: undefined,
  async *lines() {
    // Only a note is compared with.
  },
}

/** Of each stream the first divergence: what follows it proves nothing more. */
function collected() {
  const broken = new Set<string>()
  const all: Divergence[] = []
  const isNew = ({ stream }: Divergence): boolean => stream === WHOLE_LOG || !broken.has(stream)
  return {
    found(divergence: Divergence): void {
      if (!isNew(divergence)) return
      broken.add(divergence.stream)
      all.push(divergence)
    },
    /** For what explains all the others. */
    foundFirst(divergence: Divergence): void {
      broken.add(divergence.stream)
      all.unshift(divergence)
    },
    isBroken: (stream: string): boolean => broken.has(stream),
    all: (): readonly Divergence[] => all,
  }
}

function streamCheck(store: Pick<EventStore, 'read'>, services: readonly Service<never>[], { found, isBroken }: Findings) {
  const aggregates = aggregatesOf(services)
  const known = folds(store)
  let count = 0
  /** Streams that end, as far as they were read, in the middle of an append. */
  const open = new Map<string, number>()
  const note = ({ stream }: StoredEvent, step: Folded | Divergence): void => {
    if (isDivergence(step)) {
      known.drop(stream)
      open.delete(stream)
      return found(step)
    }
    known.keep(stream, step)
    if (step.open !== undefined) open.set(stream, step.revision)
    else if (open.size > 0) open.delete(stream)
  }
  const judge = (aggregate: Aggregate<never>, before: Folded | Divergence, event: StoredEvent): void =>
    note(event, isDivergence(before) ? before : checkedStep(aggregate, before, event))
  return {
    count: (): number => count,
    /** An append is stored as a whole: none is left in its middle. */
    end: (): void => open.forEach((revision, stream) => found(unhashed(stream, { revision }))),
    /** @returns something to wait for where the stream has to be read first, which is seldom */
    check(event: StoredEvent): Promise<void> | void {
      if (isBroken(event.stream)) return
      if (event.revision === 0) count += 1
      const aggregate = ownerOf(aggregates, event)
      if (isDivergence(aggregate)) return note(event, aggregate)
      const kept = known.kept(aggregate, event)
      if (kept) return judge(aggregate, kept, event)
      return known.before(aggregate, event).then((before) => judge(aggregate, before, event))
    },
  }
}
