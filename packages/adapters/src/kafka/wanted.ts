import type { Clock } from '@penstock/ports/clock.ts'
import type { Group } from './group.ts'
import { type GroupLag, groupLag } from './group-lag.ts'
import { showShare } from './kafka-metrics.ts'

/** A group that this process takes part in, or wants to. */
export type Wanted = { readonly groupId: string; readonly topic: string; readonly lag: GroupLag; joined: Group | undefined }

/** Shown from when they are wanted on: one that cannot be joined must not look as if nobody wanted it. */
export function wantedGroups(clock: Clock) {
  const wanted = new Map<string, Wanted & { readonly hide: () => void }>()
  function shown(groupId: string, topic: string): Wanted & { readonly hide: () => void } {
    const one: Wanted = { groupId, topic, lag: groupLag(clock), joined: undefined }
    const hide = showShare({ group: groupId, topic, partitions: () => one.joined?.partitions() ?? 0, lag: one.lag })
    return Object.assign(one, { hide })
  }
  function drop(groupId: string): void {
    wanted.get(groupId)?.hide()
    wanted.delete(groupId)
  }
  return {
    want(groupId: string, topic: string): Wanted {
      const one = wanted.get(groupId) ?? shown(groupId, topic)
      wanted.set(groupId, one)
      return one
    },
    drop,
    all: (): readonly Wanted[] => [...wanted.values()],
    joined: (): readonly Group[] => [...wanted.values()].flatMap(({ joined }) => joined ?? []),
    close: (): void => [...wanted.keys()].forEach(drop),
  }
}
