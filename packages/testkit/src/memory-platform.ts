import { memoryBus } from '@penstock/adapters/memory/bus.ts'
import { memoryEventStore } from '@penstock/adapters/memory/event-store.ts'
import { sqlLeases } from '@penstock/adapters/sql/leases.ts'
import { sqlLimits } from '@penstock/adapters/sql/limits.ts'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { sqlTimers } from '@penstock/adapters/sql/timers.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { readConfig } from '@penstock/config/config.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import {
  commandToBus,
  commandTopic,
  eventTopic,
  outcomeFromBus,
  type OutcomeMessage,
} from '@penstock/runtime/commands/messages.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Platform } from '@penstock/runtime/platform.ts'
import type { AddressedCommand } from '@penstock/kernel/process.ts'

const findSender = ({ category, command }: AddressedCommand): string =>
  contractOf(category).commands[command.type]?.from?.[0] ?? 'order'

/** Creates a platform in memory, and callers of its services. */
export async function createMemoryPlatform(env: Record<string, string> = {}, clock: Clock = systemClock) {
  const views = openViews(':memory:')
  const store = memoryEventStore()
  const bus = memoryBus()
  const platform: Platform = {
    store,
    bus,
    views,
    clock,
    ids: systemIds(),
    timers: await sqlTimers(views),
    progress: await sqlProgress(views),
    limits: await sqlLimits(views),
    leases: await sqlLeases(views, () => clock.now()),
    instance: 'memory',
    config: readConfig(env),
    log: openLogger('silent'),
  }
  /** @param as the sender of the commands; by default the service that may send them by their contract */
  const caller = async (service: string, as?: string) => {
    const outcomes: OutcomeMessage[] = []
    await bus.subscribe({
      group: 'caller',
      topic: eventTopic(service),
      handle: (message) => {
        const outcome = outcomeFromBus(message)
        if (outcome) outcomes.push(outcome)
        return Promise.resolve('done')
      },
    })
    const send = (addressed: AddressedCommand, commandId: string, notAfter: number | null = null) =>
      bus.publish(commandTopic(service, as ?? findSender(addressed)), [
        commandToBus({
          id: commandId,
          category: addressed.category,
          aggregateId: addressed.id,
          ...addressed.command,
          v: 1,
          at: clock.now(),
          notAfter,
          correlation: addressed.id,
          trace: '0'.repeat(32),
        }),
      ])
    return { send, outcomes }
  }
  return { platform, store, caller }
}
