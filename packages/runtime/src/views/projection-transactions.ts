import { Fault } from '@penstock/kernel/result.ts'
import type { ConsumerProgress } from '@penstock/ports/progress.ts'
import type { Views } from '@penstock/ports/views.ts'
import { runWithRegularPriority } from '../commands/low-priority.ts'
import type { OutcomeMessage } from '../commands/messages.ts'
import { hitCrashPoint } from '../crash-points.ts'
import type { Event, Projection } from '../service.ts'

export type ProjectionContext = {
  readonly service: string
  readonly views: Views
  readonly progress: ConsumerProgress
}

/** The transactions of one projection. The consumers of all owners share them. */
export type ProjectionTransactions = {
  /** @returns whether the fact was applied; a repeated fact is not */
  readonly applyEvent: (event: Event) => Promise<boolean>
  readonly applyOutcome: (outcome: OutcomeMessage) => Promise<void>
}

/** A fact or an outcome that waits for a transaction. */
type Entry = {
  readonly event?: Event
  readonly outcome?: OutcomeMessage
  readonly done: (isApplied: boolean) => void
  readonly failed: (error: unknown) => void
}

const MAX_BATCH = 256

/** A projection's name with its version, because the old and the new version run in parallel until all traffic has moved. */
export const projectionName = (context: Pick<ProjectionContext, 'service'>, { name, version }: Projection): string =>
  `${context.service}.${name}.v${version}`

export const streamOf = ({ category, aggregateId }: Event): string => `${category}-${aggregateId}`

/**
 * Applies all waiting facts in one transaction with their progress, so that an event counts once. The next transaction begins
 * when this transaction has ended, and applies all facts that arrived meanwhile.
 */
export function createProjectionTransactions(context: ProjectionContext, projection: Projection): ProjectionTransactions {
  const { service, views, progress } = context
  const name = projectionName(context, projection)

  async function commit(entries: readonly Entry[]): Promise<void> {
    const reached = entries.flatMap(({ event }) => (event ? [{ ...toProgress(event), event }] : []))
    const applied = await views.db.transaction().execute(async (trx) => {
      const later = reached.length > 0 ? await progress.advance(name, reached, trx) : []
      const events = later.map(({ event }) => event)
      if (events.length > 0) await projection.apply(trx, events)
      for (const { outcome } of entries) if (outcome) await projection.outcome?.(trx, outcome)
      return events
    })
    if (applied.length > 0) {
      hitCrashPoint(`${service}.after-projection`)
      projection.onCommitted?.(applied)
    }
    const isApplied = new Set(applied)
    for (const { event, done } of entries) done(event !== undefined && isApplied.has(event))
  }
  const add = createBatcher(commit)
  return {
    applyEvent: (event) => add({ event }),
    async applyOutcome(outcome) {
      await add({ outcome })
      projection.onOutcomeCommitted?.(outcome)
    },
  }
}

const toProgress = (event: Event) => ({ stream: streamOf(event), revision: event.revision, position: event.position })

function createBatcher(commit: (entries: readonly Entry[]) => Promise<void>) {
  const waiting: Entry[] = []
  let busy = false

  /**
   * Commits the entries. If that fails, it tries ever smaller parts, so that only the faulty entry fails. After a Fault it tries
   * the first entry alone. If that entry fails too, all others fail at once, because each would wait for a database that does
   * not answer.
   * @returns the Fault of an entry that was tried alone
   */
  async function commitInParts(entries: readonly Entry[]): Promise<Fault | undefined> {
    try {
      await commit(entries)
      return undefined
    } catch (error) {
      const fault = error instanceof Fault ? error : undefined
      if (entries.length === 1) {
        entries[0]!.failed(error)
        return fault
      }
      const middle = fault ? 1 : Math.ceil(entries.length / 2)
      const rest = entries.slice(middle)
      const partFault = await commitInParts(entries.slice(0, middle))
      if (!partFault) return commitInParts(rest)
      for (const entry of rest) entry.failed(partFault)
      return partFault
    }
  }

  async function drain(): Promise<void> {
    busy = true
    while (waiting.length > 0) {
      // Waits for callbacks of settled promises, so that all messages of one commit share the transaction.
      await new Promise<void>((resolve) => process.nextTick(resolve))
      await commitInParts(waiting.splice(0, MAX_BATCH))
    }
    busy = false
  }

  return (item: Pick<Entry, 'event' | 'outcome'>): Promise<boolean> =>
    new Promise<boolean>((done, failed) => {
      waiting.push({ ...item, done, failed })
      if (!busy) void runWithRegularPriority(drain)
    })
}
