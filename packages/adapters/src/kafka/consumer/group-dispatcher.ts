import type { Clock } from '@penstock/ports/clock.ts'
import type { BusLog } from '../client.ts'
import type { Dispatcher, DispatcherOptions } from '../../shared/dispatcher.ts'
import type { GroupMember, MemberTopic, TopicMembership } from './group-member.ts'
import { createPartitionAssignment } from './partition-assignment.ts'
import type { SharedParkedKeys, ParkedKeyState } from '../parked-tables.ts'
import { createMessageProcessor } from './message-processor.ts'

export type GroupDispatcherOptions = Pick<MemberTopic, 'topic' | 'partitions' | 'waiting'> & {
  readonly clock: Clock
  readonly log: BusLog | undefined
  /** The names of group and topic without the prefix. */
  readonly subscriptionId: { readonly group: string; readonly topic: string }
  /** Called after the last handler was removed. */
  readonly onEnded: () => void
}

/** The handlers of one group and topic in this process, and the topic's part in the process's membership of the group. */
export type GroupDispatcher = Dispatcher & {
  /** Number of partitions assigned to this process. */
  partitions(): number
  /** Applies a list of parked keys that was read at `version`. @returns false for an outdated list */
  updateParkedKeys(states: readonly ParkedKeyState[], version: number): boolean
  parkedKeysVersion(): number
}

const PARKED_RETRY_MS = 100
const UNREADABLE = 'reading parked keys failed; retrying, and handling no message until then'

export function createGroupDispatcher(
  member: GroupMember,
  parked: SharedParkedKeys,
  { subscriptionId, clock, log, onEnded, ...topicOptions }: GroupDispatcherOptions,
  dispatcherOptions: DispatcherOptions,
): GroupDispatcher {
  const assignment = createPartitionAssignment()
  const offsetsOf = (partition: number) => assignment.offsetsOf(partition)
  const processor = createMessageProcessor(subscriptionId, parked, offsetsOf, dispatcherOptions)
  let membership: TopicMembership | undefined
  let pauseCount = 0
  let isEnded = false

  function pause(): Promise<void> {
    pauseCount++
    return processor.pause()
  }
  /** Resumes once the parked keys have been read, because another member may have parked keys of the new partitions. */
  async function resume(): Promise<void> {
    const pauseNumber = ++pauseCount
    while (pauseNumber === pauseCount && !isEnded && !(await readParkedKeys())) await clock.sleep(PARKED_RETRY_MS)
    if (pauseNumber === pauseCount) processor.resume()
  }
  async function readParkedKeys(): Promise<boolean> {
    try {
      const version = processor.parkedKeysVersion()
      return updateParkedKeys(await parked.listStates(), version)
    } catch (error) {
      log?.info({ group: member.groupId, topic: topicOptions.topic, reason: String(error) }, UNREADABLE)
      return false
    }
  }
  const updateParkedKeys = (states: readonly ParkedKeyState[], version: number): boolean => {
    const ownKeys = states.filter((key) => key.group === subscriptionId.group && key.topic === subscriptionId.topic)
    return processor.updateParkedKeys(ownKeys, version)
  }
  async function close(inFlight: Promise<void>): Promise<void> {
    isEnded = true
    membership?.stopIntake()
    await processor.stop()
    await inFlight
    await membership?.leave()
    onEnded()
  }
  void pause()
  return {
    partitions: () => membership?.partitions() ?? 0,
    updateParkedKeys,
    parkedKeysVersion: processor.parkedKeysVersion,
    pump: () => {},
    replay: () => {},
    add(handle, aside) {
      processor.add(handle, aside)
      const { accept } = processor
      membership ??= member.addTopic({ ...topicOptions, processor: { accept, pause, resume: () => void resume() }, assignment })
    },
    remove(handle) {
      const { isLast, inFlight } = processor.remove(handle)
      return { isLast, done: isLast ? close(inFlight) : inFlight }
    },
  }
}
