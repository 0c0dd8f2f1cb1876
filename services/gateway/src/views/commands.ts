import { DAY_MS } from '@penstock/kernel/time.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { OutcomeMessage } from '@penstock/runtime/messages.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { Transaction } from 'kysely'
import { tablesIn, tablesOf } from './tables.ts'

/** Ids of commands that processes send are derived (UUIDv5); only those that were drawn belong to somebody who waits. */
const isAwaited = (commandId: string): boolean => commandId[14] !== '5'

/**
 * In the transaction of the last rows that the command changed, so that whoever finds this finds all of them. A fact is
 * stronger than a refusal: one replica may have refused what another, to which the command came again, has done.
 */
export async function noteAccepted(trx: Transaction<object>, event: Event): Promise<void> {
  const { commandId, category, aggregateId, revision, at } = event
  if (event.more || !isAwaited(commandId)) return
  await tablesIn(trx)
    .insertInto('gateway_commands')
    .values({ id: commandId, category, aggregate_id: aggregateId, revision, code: null, message: null, at })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ revision, code: null, message: null }))
    .execute()
}

export async function noteOutcome(trx: Transaction<object>, outcome: OutcomeMessage): Promise<void> {
  const { commandId, category, aggregateId, revision, refused, at } = outcome
  if (!isAwaited(commandId)) return
  await tablesIn(trx)
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

/** Outcomes are for callers that wait, and nobody waits for a day. */
export async function pruneCommands(views: Pick<Views, 'db'>, now: number): Promise<void> {
  await tablesOf(views)
    .deleteFrom('gateway_commands')
    .where('at', '<', now - DAY_MS)
    .execute()
}
