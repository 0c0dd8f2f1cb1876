import type { Clock } from '@penstock/ports/clock.ts'
import type { GroupDispatcher } from './consumer/group-dispatcher.ts'
import { type GroupLag, createGroupLag } from './consumer/group-lag.ts'
import { registerGroupMetrics } from './kafka-metrics.ts'

/** A topic that this process reads, or is about to read, as a member of a consumer group. */
export type ExpectedGroup = {
  readonly groupId: string
  readonly topic: string
  readonly lag: GroupLag
  dispatcher: GroupDispatcher | undefined
}

/** The groups and topics that this process reads. Their metrics exist from the subscription on, so that a failing join shows. */
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
  const nameOf = (groupId: string, topic: string): string => JSON.stringify([groupId, topic])
  function drop(groupId: string, topic: string): void {
    const name = nameOf(groupId, topic)
    groups.get(name)?.hide()
    groups.delete(name)
  }
  return {
    add(groupId: string, topic: string): ExpectedGroup {
      const name = nameOf(groupId, topic)
      const group = groups.get(name) ?? createGroup(groupId, topic)
      groups.set(name, group)
      return group
    },
    drop,
    all: (): readonly ExpectedGroup[] => [...groups.values()],
    joined: (): readonly GroupDispatcher[] => [...groups.values()].flatMap(({ dispatcher }) => dispatcher ?? []),
    close: (): void => [...groups.values()].forEach((group) => drop(group.groupId, group.topic)),
  }
}
