import { contractOf } from '@penstock/contracts/all.ts'
import { categoryOf, type EventStore, type StoredEvent } from '@penstock/ports/event-store.ts'
import { expectedChain, metaOf, stateHash } from './event-codec.ts'
import type { Aggregate, Service } from './service.ts'
import { afterStored, emptyStream, type Loaded } from './streams.ts'

/** What an audit found. `first`: where the first stream stops being what its own hashes say. */
export type AuditReport = {
  readonly streams: number
  readonly events: number
  readonly divergences: number
  readonly ledger_balanced: boolean
  readonly first: { readonly stream: string; readonly revision: number; readonly what: string } | null
}

type Divergence = { readonly stream: string; readonly revision: number; readonly what: string }

const PAGE = 2000

/**
 * Reads every stream from its beginning: the revisions have no gap, every chain hash covers the stored bytes, and today's
 * code derives the state that was hashed when the fact was appended. Beside it all ledger postings must add up to nothing.
 */
export async function audit(store: Pick<EventStore, 'readAll'>, services: readonly Service<never>[]): Promise<AuditReport> {
  const aggregates = new Map(services.flatMap((service) => service.aggregates).map((aggregate) => [aggregate.contract.category, aggregate as Aggregate<never>]))
  const folds = new Map<string, Loaded>()
  const broken = new Set<string>()
  const ledger = ledgerCheck()
  let events = 0
  let first: Divergence | null = null
  let after: bigint | 'start' = 'start'
  for (;;) {
    const page: readonly StoredEvent[] = await store.readAll(after, PAGE)
    for (const event of page) {
      events += 1
      ledger.add(event)
      if (broken.has(event.stream)) continue
      const checked = check(aggregates, folds.get(event.stream), event)
      if ('what' in checked) {
        broken.add(event.stream)
        first ??= checked
      } else folds.set(event.stream, checked)
    }
    const last = page.at(-1)
    if (!last) break
    after = last.position
  }
  return { streams: new Set([...folds.keys(), ...broken]).size, events, divergences: broken.size, ledger_balanced: ledger.balanced(), first }
}

function check(aggregates: ReadonlyMap<string, Aggregate<never>>, before: Loaded | undefined, event: StoredEvent): Loaded | Divergence {
  const at = { stream: event.stream, revision: event.revision }
  const aggregate = aggregates.get(categoryOf(event.stream))
  if (!aggregate) return { ...at, what: 'no service owns this stream' }
  const loaded = before ?? emptyStream(aggregate)
  if (event.revision !== loaded.revision + 1) return { ...at, what: `revision ${loaded.revision + 1} is missing` }
  try {
    const meta = metaOf(event)
    if (meta.chain !== expectedChain(loaded.chain, event)) return { ...at, what: 'the chain hash does not cover the stored bytes' }
    const after = afterStored(aggregate, loaded, event)
    if (meta.state !== undefined && meta.state !== hashAgain(aggregate, after.state, meta.state)) return { ...at, what: 'the facts fold to another state than the one that was hashed' }
    return after
  } catch (error) {
    return { ...at, what: error instanceof Error ? error.message : String(error) }
  }
}

/** By the version of the projection that was used then. */
function hashAgain(aggregate: Aggregate<never>, state: unknown, recorded: string): string {
  const version = Number(recorded.slice(0, recorded.indexOf(':')))
  const project = aggregate.hashed.of[version]
  return project ? stateHash(version, project(state)) : `no projection ${version}`
}

/** Every posting is balanced by itself, whatever aggregate it stands in. */
function ledgerCheck(): { add(event: StoredEvent): void; balanced(): boolean } {
  let unbalanced = 0
  return {
    add(event) {
      if (event.type !== 'LedgerPosted' || !contractOf(categoryOf(event.stream)).facts['LedgerPosted']) return
      try {
        // The contract's shape; an edited event that is no JSON is a divergence of its stream already.
        const { entries } = JSON.parse(event.data) as { entries: readonly { amountMsat: string }[] }
        if (entries.reduce((sum, entry) => sum + BigInt(entry.amountMsat), 0n) !== 0n) unbalanced += 1
      } catch {
        unbalanced += 1
      }
    },
    balanced: () => unbalanced === 0,
  }
}
