import { memoryBus } from '@penstock/adapters/memory/bus.ts'
import { memoryEventStore } from '@penstock/adapters/memory/event-store.ts'
import { sqlLeases } from '@penstock/adapters/sql/leases.ts'
import { sqlLimits } from '@penstock/adapters/sql/limits.ts'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { sqlTimers } from '@penstock/adapters/sql/timers.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { readConfig } from '@penstock/runtime/config.ts'
import { openLog } from '@penstock/runtime/log.ts'
import { commandToBus, commandTopic, eventTopic, outcomeFromBus, type OutcomeMessage } from '@penstock/runtime/messages.ts'
import type { Platform } from '@penstock/runtime/platform.ts'
import type { Ask } from '@penstock/runtime/service.ts'

/** A platform in memory, and somebody who calls its services. */
export async function memoryWorld(env: Record<string, string> = {}) {
  const views = openViews(':memory:')
  const store = memoryEventStore()
  const bus = memoryBus()
  const clock = systemClock
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
    log: openLog('silent'),
  }
  const caller = async (service: string) => {
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
    const send = (ask: Ask, commandId: string, notAfter: number | null = null) =>
      bus.publish(commandTopic(service), [
        commandToBus({
          id: commandId,
          category: ask.category,
          aggregateId: ask.id,
          ...ask.command,
          v: 1,
          at: clock.now(),
          notAfter,
          correlation: ask.id,
          trace: '0'.repeat(32),
        }),
      ])
    return { send, outcomes }
  }
  return { platform, store, caller }
}
