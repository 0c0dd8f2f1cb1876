import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { comparison, type Findings, type HeadsReport } from './audit-compare.ts'
import { aggregatesOf, checkedStep, type Divergence, type Folded, folds, isDivergence, ownerOf } from './audit-fold.ts'
import type { HeadLog } from './audit-heads.ts'
import { ledgerCheck } from './audit-ledger.ts'
import type { Aggregate, Service } from './service.ts'

/** What an audit found. `first`: where the first stream stops being what its own hashes say, or what the log heads know. */
export type AuditReport = {
  readonly streams: number
  readonly events: number
  readonly divergences: number
  readonly ledger_balanced: boolean
  readonly first: Divergence | null
  /** Only where the audit was given heads or a note to compare with. */
  readonly log?: HeadsReport
}

export type AuditOptions = {
  readonly heads?: Pick<HeadLog, 'key' | 'lines'>
  /** What an earlier audit called its note, kept outside of this machine. */
  readonly note?: string
  /** What the store itself finds wrong with its tables. */
  readonly storeFault?: Divergence
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
  if (options.storeFault) findings.found(options.storeFault)
  const { heads, note } = options
  const log = heads || note !== undefined ? await comparison(heads ?? NO_HEADS, note, findings) : undefined
  const streams = streamCheck(store, services, findings)
  const ledger = ledgerCheck()
  let events = 0
  let after: bigint | 'start' = 'start'
  let short = 0
  for (;;) {
    const page: readonly StoredEvent[] = await store.readAll(after, PAGE)
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
  const report = {
    streams: streams.count(),
    events,
    ...findings.sum(),
    ledger_balanced: ledger.balanced(),
    first: findings.first(),
  }
  return log ? { ...report, log: await log.end(), ...findings.sum(), first: findings.first() } : report
}

const NO_HEADS: Pick<HeadLog, 'key' | 'lines'> = {
  key: undefined,
  async *lines() {
    // Only a note is compared with.
  },
}

/** One divergence for each stream: what follows the first one proves nothing more. */
function collected() {
  const broken = new Set<string>()
  let first: Divergence | null = null
  return {
    found(divergence: Divergence): void {
      first ??= divergence
      broken.add(divergence.stream)
    },
    isBroken: (stream: string): boolean => broken.has(stream),
    first: (): Divergence | null => first,
    sum: () => ({ divergences: broken.size }),
  }
}

function streamCheck(store: Pick<EventStore, 'read'>, services: readonly Service<never>[], { found, isBroken }: Findings) {
  const aggregates = aggregatesOf(services)
  const known = folds(store)
  let count = 0
  const note = ({ stream }: StoredEvent, step: Folded | Divergence): void => {
    if (!isDivergence(step)) return known.keep(stream, step)
    known.drop(stream)
    found(step)
  }
  const judge = (aggregate: Aggregate<never>, before: Folded | Divergence, event: StoredEvent): void =>
    note(event, isDivergence(before) ? before : checkedStep(aggregate, before, event))
  return {
    count: (): number => count,
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
