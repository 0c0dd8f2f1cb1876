import { DAY_MS } from '@penstock/kernel/time.ts'
import type { Views } from '@penstock/ports/views.ts'
import { isDerivedId } from '@penstock/runtime/commands/derived-ids.ts'
import type { OutcomeMessage } from '@penstock/runtime/commands/messages.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { Transaction } from 'kysely'
import { type OutcomeTables, withOutcomeTableIn, withOutcomeTable } from './outcome-table.ts'

/** Processes derive the ids of their commands; only a random id belongs to a caller that waits for the outcome. */
const isAwaited = (commandId: string): boolean => !isDerivedId(commandId)

/**
 * Records the acceptance of commands in the transaction that applies their last facts. So a caller that finds the acceptance also
 * finds all rows. The acceptance overwrites a refusal, because a replica may refuse a repetition of an accepted command.
 */
export async function recordAccepted(trx: Transaction<object>, events: readonly Event[]): Promise<void> {
  const lastFacts = events.filter(({ commandId, hasMore }) => !hasMore && isAwaited(commandId))
  // Replicas write the rows in the same order, so that they cannot wait for each other.
  const rows = [...new Map(lastFacts.map((event) => [event.commandId, toAcceptance(event)])).values()].toSorted(byId)
  if (rows.length === 0) return
  await withOutcomeTableIn(trx)
    .insertInto('gateway_commands')
    .values(rows)
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet((row) => ({ revision: row.ref('excluded.revision'), code: null, message: null })),
    )
    .execute()
}

type OutcomeRow = OutcomeTables['gateway_commands']

const toAcceptance = ({ commandId: id, category, aggregateId, revision, at }: Event): OutcomeRow => ({
  id,
  category,
  aggregate_id: aggregateId,
  revision,
  code: null,
  message: null,
  at,
})

const byId = (a: OutcomeRow, b: OutcomeRow): number => (a.id < b.id ? -1 : 1)

export async function recordOutcome(trx: Transaction<object>, outcome: OutcomeMessage): Promise<void> {
  const { commandId, category, aggregateId, revision, refused, at } = outcome
  if (!isAwaited(commandId)) return
  await withOutcomeTableIn(trx)
    .insertInto('gateway_commands')
    .values({
      id: commandId,
      category,
      aggregate_id: aggregateId,
      revision: revision === 'none' ? null : revision,
      code: refused?.code ?? null,
      message: refused?.message ?? null,
      at,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Deletes outcomes that are older than a day; no caller waits that long. */
export async function pruneCommands(views: Pick<Views, 'db'>, now: number): Promise<void> {
  await withOutcomeTable(views)
    .deleteFrom('gateway_commands')
    .where('at', '<', now - DAY_MS)
    .execute()
}
