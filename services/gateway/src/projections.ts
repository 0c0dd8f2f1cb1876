import { contracts } from '@penstock/contracts/contracts.ts'
import { commandsFrom, type Contract } from '@penstock/contracts/define.ts'
import type { Projection } from '@penstock/runtime/service.ts'
import type { ProjectionTools } from './area.ts'
import { areas } from './areas.ts'
import { recordAccepted, recordOutcome } from './commands/command-outcomes.ts'
import type { ReadModelWaiters } from './commands/read-model-waiters.ts'
import { migrateGateway } from './migrations.ts'

const areaProjections = areas.flatMap((area) => area.projections ?? [])

export const projectionNames: readonly string[] = areaProjections.map(({ name }) => name)

/**
 * Creates the projections of the gateway's read models. The commit of a command's rows wakes the request that waits for them.
 * @param waiters the waiting requests of this process, notified after each commit
 */
export function createGatewayProjections(
  waiters: Pick<ReadModelWaiters, 'notifyCommitted'>,
  pageHashOf: ProjectionTools['pageHashOf'],
): readonly Projection[] {
  const projections = areaProjections.map(({ apply, ...projection }): Projection => ({
    ...projection,
    migrate: migrateGateway,
    apply: async (trx, events) => {
      await apply(trx, events, { pageHashOf })
      await recordAccepted(trx, events)
    },
    outcome: recordOutcome,
    // The commit of a command's last fact records its answer.
    onCommitted: (events) =>
      waiters.notifyCommitted(
        events.flatMap(({ aggregateId, commandId, hasMore }) => (hasMore ? [aggregateId] : [aggregateId, commandId])),
      ),
    onOutcomeCommitted: ({ commandId, aggregateId }) => waiters.notifyCommitted([commandId, aggregateId]),
  }))
  assertCommandsAnswered(contracts, projections)
  return projections
}

/** @throws Error if a projection follows no facts of a contract that the gateway commands: its callers would wait in vain */
export function assertCommandsAnswered(
  commanded: readonly Pick<Contract, 'category' | 'commands'>[],
  projections: readonly { readonly from: readonly Pick<Contract, 'category'>[] }[],
): void {
  const answered = new Set(projections.flatMap(({ from }) => from.map(({ category }) => category)))
  for (const contract of commanded) {
    const [type] = commandsFrom(contract, 'gateway')
    if (type !== undefined && !answered.has(contract.category))
      throw new Error(
        `The gateway sends ${type} to "${contract.category}" streams, and none of its projections follows their facts. ` +
          `Add the contract to a projection of an area of the gateway.`,
      )
  }
}
