import type { Kafka } from 'kafkajs'
import type { Dispatcher, DispatcherOptions } from '../../shared/dispatcher.ts'
import { type GroupMember, joinGroup, type GroupMemberOptions } from './group-member.ts'
import { createPartitionAssignment } from './partition-assignment.ts'
import type { SharedParkedKeys, ParkedKeyState } from '../parked-tables.ts'
import { createMessageProcessor } from './message-processor.ts'

export type GroupDispatcherOptions = GroupMemberOptions & {
  /** The names of group and topic without the prefix. */
  readonly subscriptionId: { readonly group: string; readonly topic: string }
  /** Called after the last handler was removed. */
  readonly onEnded: () => void
}

/** The handlers of one group and topic in this process, and the process's membership in the Kafka consumer group. */
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
  kafka: Kafka,
  parked: SharedParkedKeys,
  options: GroupDispatcherOptions,
  dispatcherOptions: DispatcherOptions,
): GroupDispatcher {
  const assignment = createPartitionAssignment()
  const offsetsOf = (partition: number) => assignment.offsetsOf(partition)
  const processor = createMessageProcessor(options.subscriptionId, parked, offsetsOf, dispatcherOptions)
  let membership: GroupMember | undefined
  let pauseCount = 0
  let isEnded = false

  function pause(): Promise<void> {
    pauseCount++
    return processor.pause()
  }
  /** Resumes once the parked keys have been read, because another member may have parked keys of the new partitions. */
  async function resume(): Promise<void> {
    const pauseNumber = ++pauseCount
    while (pauseNumber === pauseCount && !isEnded && !(await readParkedKeys())) await options.clock.sleep(PARKED_RETRY_MS)
    if (pauseNumber === pauseCount) processor.resume()
  }
  async function readParkedKeys(): Promise<boolean> {
    try {
      const version = processor.parkedKeysVersion()
      return updateParkedKeys(await parked.listStates(), version)
    } catch (error) {
      options.log?.info({ group: options.groupId, reason: String(error) }, UNREADABLE)
      return false
    }
  }
  const updateParkedKeys = (states: readonly ParkedKeyState[], version: number): boolean => {
    const { group: name, topic } = options.subscriptionId
    const ownKeys = states.filter((key) => key.group === name && key.topic === topic)
    return processor.updateParkedKeys(ownKeys, version)
  }
  async function close(inFlight: Promise<void>): Promise<void> {
    isEnded = true
    membership?.stopIntake()
    await processor.stop()
    await inFlight
    await membership?.leave()
    options.onEnded()
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
      membership ??= joinGroup(kafka, { accept: processor.accept, pause, resume: () => void resume() }, assignment, options)
    },
    remove(handle) {
      const { isLast, inFlight } = processor.remove(handle)
      return { isLast, done: isLast ? close(inFlight) : inFlight }
    },
  }
}
