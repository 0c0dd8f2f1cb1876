import type { BusMessage, ParkedKey } from '@penstock/ports/bus.ts'
import { doneOf, free, isReady, keep, type Lane, type Member, newLane } from './lanes.ts'
import type { Random } from './random.ts'
import type { Schedule } from './schedule.ts'

/** Everybody who shares the messages of one group and topic. A key is in one hand at a time. */
export type Group = {
  readonly name: string
  readonly topic: string
  readonly lanes: Map<string, Lane>
  readonly members: Set<Member>
  /** Every time that a key was set aside, also where it was put back since. */
  readonly parkings: Omit<ParkedKey, 'messages'>[]
  readonly schedule: Schedule
  readonly draws: Random
}

const MOST_UNNOTICED_MS = 10_000

export const newGroup = (schedule: Schedule, name: string, topic: string): Group => ({
  name,
  topic,
  lanes: new Map(),
  members: new Set(),
  parkings: [],
  schedule,
  draws: schedule.random.fork(`group/${name}/${topic}`),
})

export function put(group: Group, message: BusMessage, hand: Hand): void {
  const lane = group.lanes.get(message.key) ?? newLane(message.key)
  group.lanes.set(message.key, lane)
  lane.queue.push(message)
  offer(group, lane, hand)
}

/** Carries a message to a member. */
export type Hand = (group: Group, lane: Lane, owner: Member) => void

/** Gives the lane's next message to its owner, or to one that the seed picks, if there is one and it has a free hand. */
export function offer(group: Group, lane: Lane, hand: Hand): void {
  tellAside(group, lane)
  if (!isReady(lane)) return
  const present = [...group.members].filter(({ leaving }) => !leaving)
  if (present.length === 0) return
  lane.owner ??= group.draws.pick(present)
  const { owner } = lane
  if (owner.running >= owner.concurrency) {
    lane.state = 'waiting'
    owner.line.push(lane)
    return
  }
  owner.running++
  lane.state = 'in-hand'
  hand(group, lane, owner)
}

/** A member is told of what waits behind a parked message. */
function tellAside(group: Group, lane: Lane): void {
  if (!lane.parked || lane.parked.replaying) return
  const first = doneOf(lane) + 1
  const waiting = lane.queue.slice(Math.max(lane.told, first) - lane.kept)
  const member = [...group.members].find(({ leaving }) => !leaving)
  if (!member || waiting.length === 0) return
  lane.told = lane.kept + lane.queue.length
  const tell = (): void => waiting.forEach((message) => member.aside?.(message))
  member.process.later(member.process.latencyMs('bus.aside'), tell, 'bus.aside')
}

const offerAll = (group: Group, hand: Hand): void => {
  for (const lane of group.lanes.values()) offer(group, lane, hand)
}

/** A hand of this member is free: the next in its line gets it, and whoever leaves is gone with its last. */
export function release(group: Group, member: Member, hand: Hand): void {
  member.running--
  const lane = member.line.shift()
  if (lane) {
    lane.state = 'idle'
    offer(group, lane, hand)
  }
  if (member.leaving && member.running === 0) gone(group, member, hand)
}

/** Newcomers get keys of the others that nobody has in hand. */
export function join(group: Group, member: Member, hand: Hand): void {
  group.members.add(member)
  member.forget = member.process.onDeath(() => died(group, member, hand))
  for (const lane of group.lanes.values())
    if ((lane.state === 'idle' || lane.state === 'resting') && group.draws.chance(1 / group.members.size)) free(lane)
  offerAll(group, hand)
}

/** Takes nothing more; resolves when what is in hand is done and kept. */
export function leave(group: Group, member: Member, hand: Hand): Promise<void> {
  if (!group.members.has(member)) return Promise.resolve()
  if (member.leaving) return member.leaving.promise
  member.leaving = Promise.withResolvers<void>()
  member.line = []
  const { promise } = member.leaving
  for (const lane of ownedBy(group, member))
    if (lane.state !== 'in-hand') {
      keep(lane, doneOf(lane))
      free(lane)
    }
  offerAll(group, hand)
  if (member.running === 0) gone(group, member, hand)
  return promise
}

function gone(group: Group, member: Member, hand: Hand): void {
  for (const lane of ownedBy(group, member)) {
    keep(lane, doneOf(lane))
    free(lane)
  }
  group.members.delete(member)
  member.forget()
  member.leaving?.resolve()
  offerAll(group, hand)
}

/** What it had in hand, and what it had done and not kept, comes again: to others once its death is noticed. */
function died(group: Group, member: Member, hand: Hand): void {
  group.members.delete(member)
  for (const lane of group.lanes.values()) lane.told = 0
  for (const lane of ownedBy(group, member)) {
    if (lane.state === 'in-hand' || lane.next > 0) member.process.faults.count('delivered again after a death')
    lane.next = 0
    free(lane)
  }
  group.schedule.later(group.draws.between(0, MOST_UNNOTICED_MS), () => offerAll(group, hand), `${group.name} notices a death`)
}

const ownedBy = (group: Group, member: Member): readonly Lane[] =>
  [...group.lanes.values()].filter(({ owner }) => owner === member)
