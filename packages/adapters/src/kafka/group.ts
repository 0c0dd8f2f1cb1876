import type { Kafka } from 'kafkajs'
import type { Dispatcher, DispatcherOptions } from '../shared/dispatcher.ts'
import type { LivesOptions } from './lives.ts'
import { type Member, member } from './member.ts'
import { ownership } from './ownership.ts'
import type { ParkedKeys, Waiting } from './parked-tables.ts'
import { work } from './work.ts'

export type GroupOptions = LivesOptions & {
  /** As the bus's users name them. */
  readonly place: { readonly group: string; readonly topic: string }
  /** Called when the last handler has gone. */
  readonly over: () => void
}

/** The handlers of one group and topic in this process, and its membership in Kafka's group. */
export type Group = Dispatcher & {
  /** Those that this process has now. */
  partitions(): number
  /** Keys that are parked, from a list that was asked for at a `version`. */
  noteParked(waiting: readonly Waiting[], version: number): boolean
  parkedVersion(): number
}

const LOOK_AGAIN_MS = 100

export function group(kafka: Kafka, parked: ParkedKeys, options: GroupOptions, how: DispatcherOptions): Group {
  const owned = ownership()
  const lanes = work(options.place, parked, (partition) => owned.window(partition), how)
  let joined: Member | undefined
  let holds = 0
  let ended = false

  function hold(): Promise<void> {
    holds++
    return lanes.hold()
  }
  /** Which keys are parked has to be known first: another member may have parked some. */
  async function release(): Promise<void> {
    const mine = ++holds
    while (mine === holds && !ended && !(await listIsRead())) await options.clock.sleep(LOOK_AGAIN_MS)
    if (mine === holds) lanes.release()
  }
  async function listIsRead(): Promise<boolean> {
    try {
      const version = lanes.parkedVersion()
      return noteParked(await parked.waiting(), version)
    } catch (error) {
      options.log?.info(
        { group: options.groupId, reason: String(error) },
        'parked keys cannot be read; no message is handled until then',
      )
      return false
    }
  }
  const noteParked = (waiting: readonly Waiting[], version: number): boolean => {
    const { group: name, topic } = options.place
    const ours = waiting.filter((key) => key.group === name && key.topic === topic)
    return lanes.noteParked(ours, version)
  }
  async function end(inHand: Promise<void>): Promise<void> {
    ended = true
    joined?.stopIntake()
    await lanes.stop()
    await inHand
    await joined?.leave()
    options.over()
  }
  void hold()
  return {
    partitions: () => joined?.partitions() ?? 0,
    noteParked,
    parkedVersion: lanes.parkedVersion,
    pump: () => {},
    replay: () => {},
    add(handle, aside) {
      lanes.add(handle, aside)
      joined ??= member(kafka, { take: lanes.take, hold, release: () => void release() }, owned, options)
    },
    remove(handle) {
      const { isLast, inHand } = lanes.remove(handle)
      return { isLast, done: isLast ? end(inHand) : inHand }
    },
  }
}
