import type { Clock } from '@penstock/ports/clock.ts'
import type { GroupDispatcher } from './consumer/group-dispatcher.ts'
import { type GroupLag, createGroupLag } from './consumer/group-lag.ts'
import { registerGroupMetrics } from './kafka-metrics.ts'

/** A consumer group that this process has joined or is joining. */
export type ExpectedGroup = {
  readonly groupId: string
  readonly topic: string
  readonly lag: GroupLag
  dispatcher: GroupDispatcher | undefined
}

/**
 * The groups that this process has joined or is joining. Their metrics exist from the subscription on, so that a failing join
 * shows.
 */
export function createExpectedGroups(clock: Clock) {
  const groups = new Map<string, ExpectedGroup & { readonly hide: () => void }>()
  function createGroup(groupId: string, topic: string): ExpectedGroup & { readonly hide: () => void } {
    const group: ExpectedGroup = { groupId, topic, lag: createGroupLag(clock), dispatcher: undefined }
    const hide = registerGroupMetrics({
      group: groupId,
      topic,
      partitions: () => group.dispatcher?.partitions() ?? 0,
      lag: group.lag,
    })
    return Object.assign(group, { hide })
  }
  function drop(groupId: string): void {
    groups.get(groupId)?.hide()
    groups.delete(groupId)
  }
  return {
    add(groupId: string, topic: string): ExpectedGroup {
      const group = groups.get(groupId) ?? createGroup(groupId, topic)
      groups.set(groupId, group)
      return group
    },
    drop,
    all: (): readonly ExpectedGroup[] => [...groups.values()],
    joined: (): readonly GroupDispatcher[] => [...groups.values()].flatMap(({ dispatcher }) => dispatcher ?? []),
    close: (): void => [...groups.keys()].forEach(drop),
  }
}
