import type { BusMessage, Handled } from '@penstock/ports/bus.ts'
import { type Group, type Hand, offer, release } from './group.ts'
import { doneOf, free, keep, type Lane, type Member } from './lanes.ts'

const LOST_MS = { least: 500, most: 15_000 }
const LAG_MS = { least: 1000, most: 20_000 }
/** How long a consumer may put off keeping what it has done: more of it comes again when it dies. */
const MOST_UNKEPT_MS = 5000
const MOST_REPEATED = 3

/** One message on its way to a member and its answer on the way back; whoever dies in between gets it again elsewhere. */
export const deliver: Hand = (group, lane, owner) => {
  const { process } = owner
  const turn = ++lane.turn
  const lagMs = process.strikes('busSlow') ? group.draws.between(LAG_MS.least, LAG_MS.most) : 0
  const isCurrent = (): boolean => lane.turn === turn
  process.later(process.latencyMs('bus.delivery') + lagMs, () => void (isCurrent() && arrive(group, lane, owner)), 'bus.delivery')
}

function arrive(group: Group, lane: Lane, owner: Member): void {
  const message = lane.queue[lane.next]
  if (!message || owner.leaving) return finish(group, lane, owner)
  if (owner.process.strikes('busDrop')) return rest(group, lane, owner, group.draws.between(LOST_MS.least, LOST_MS.most))
  void handled(owner, message).then((outcome) => {
    const apply = () => answered(group, lane, owner, outcome)
    return owner.process.call('bus.answer', apply).then(() => {
      if (typeof outcome === 'object') outcome.kept?.()
    })
  })
}

const handled = async ({ handle }: Member, { id, key, headers, body }: BusMessage): Promise<Handled | 'failed'> => {
  try {
    return await handle({ id, key, headers, body })
  } catch {
    return 'failed' // why is for the handler's own log
  }
}

function answered(group: Group, lane: Lane, owner: Member, outcome: Handled | 'failed'): void {
  const { retryMs, process } = owner
  if (outcome === 'failed')
    return rest(group, lane, owner, Math.min(retryMs.last, retryMs.first * 2 ** Math.min(lane.tries++, 20)))
  lane.tries = 0
  if (outcome !== 'done') {
    const since = lane.parked?.since ?? process.clock.now()
    keep(lane, doneOf(lane))
    lane.parked = { reason: outcome.park, since, replaying: false }
    group.parkings.push({ group: group.name, topic: group.topic, key: lane.key, reason: outcome.park, since })
  } else if (process.strikes('busRepeat')) lane.next = Math.max(0, lane.next - group.draws.between(0, MOST_REPEATED))
  else {
    lane.next++
    keepSoon(group, lane, owner)
    if (lane.parked?.replaying && lane.next === lane.queue.length) lane.parked = undefined
  }
  finish(group, lane, owner)
}

function keepSoon(group: Group, lane: Lane, owner: Member): void {
  const done = doneOf(lane)
  // Whoever leaves in peace keeps everything; a replayed key is kept message by message.
  if (lane.parked || group.draws.chance(0.5)) keep(lane, done)
  else owner.process.later(group.draws.between(1, MOST_UNKEPT_MS), () => keep(lane, done), 'bus.keep')
}

/** Gives the hand away, and comes again after a while. */
function rest(group: Group, lane: Lane, owner: Member, waitMs: number): void {
  lane.state = 'resting'
  const turn = ++lane.turn
  const wake = (): void => {
    if (lane.turn !== turn) return
    lane.state = 'idle'
    offer(group, lane, deliver)
  }
  if (owner.leaving) free(lane)
  else group.schedule.later(waitMs, wake, `${group.name} rests`)
  release(group, owner, deliver)
}

function finish(group: Group, lane: Lane, owner: Member): void {
  lane.state = 'idle'
  lane.turn++
  if (owner.leaving) {
    keep(lane, doneOf(lane))
    free(lane)
  } else if (group.members.size > 1 && owner.process.strikes('busRebalance')) {
    // The new hand begins at what the old one kept.
    lane.next = 0
    free(lane)
  }
  offer(group, lane, deliver)
  release(group, owner, deliver)
}
