import type { BusMessage, HandlerResult } from '@penstock/ports/bus.ts'
import { type GroupState, type DeliveryWorker, dispatchNext, releaseWorker } from './consumer-group.ts'
import { doneCountOf, clearOwner, commitDone, type GroupKeyQueue, type BusConsumer } from './group-key-queue.ts'

const REDELIVERY_MS = { least: 500, most: 15_000 }
const LAG_MS = { least: 1000, most: 20_000 }
/** The longest delay of a commit, in ms. Uncommitted messages are delivered again after a crash of the consumer. */
const MAX_UNCOMMITTED_MS = 5000
const MAX_REPEATED = 3

/** Delivers a message and applies the handler's result. After a crash in between, another consumer gets the message. */
export const deliver: DeliveryWorker = (group, keyQueue, owner) => {
  const { process } = owner
  const epoch = ++keyQueue.epoch
  const lagMs = process.isInjected('busSlow') ? group.prng.between(LAG_MS.least, LAG_MS.most) : 0
  const isCurrent = (): boolean => keyQueue.epoch === epoch
  process.later(
    process.latencyMs('bus.delivery') + lagMs,
    () => void (isCurrent() && handleDelivery(group, keyQueue, owner)),
    'bus.delivery',
  )
}

function handleDelivery(group: GroupState, keyQueue: GroupKeyQueue, owner: BusConsumer): void {
  const message = keyQueue.messages[keyQueue.next]
  if (!message || owner.leaving) return finishDelivery(group, keyQueue, owner)
  if (owner.process.isInjected('busDrop'))
    return deferDelivery(group, keyQueue, owner, group.prng.between(REDELIVERY_MS.least, REDELIVERY_MS.most))
  void runHandler(owner, message).then((outcome) => {
    const apply = () => applyOutcome(group, keyQueue, owner, outcome)
    return owner.process.call('bus.answer', apply).then(() => {
      if (typeof outcome === 'object') outcome.onStored?.()
    })
  })
}

const runHandler = async ({ handle }: BusConsumer, { id, key, headers, body }: BusMessage): Promise<HandlerResult | 'failed'> => {
  try {
    return await handle({ id, key, headers, body })
  } catch {
    return 'failed' // the handler logs the cause
  }
}

function applyOutcome(group: GroupState, keyQueue: GroupKeyQueue, owner: BusConsumer, outcome: HandlerResult | 'failed'): void {
  const { retryMs, process } = owner
  if (outcome === 'failed') {
    const longestMs = Math.min(retryMs.last, retryMs.first * 2 ** Math.min(keyQueue.attempts++, 20))
    return deferDelivery(group, keyQueue, owner, group.prng.between(Math.ceil(longestMs / 2), longestMs))
  }
  keyQueue.attempts = 0
  if (outcome !== 'done') {
    const since = keyQueue.parked?.since ?? process.clock.now()
    commitDone(keyQueue, doneCountOf(keyQueue))
    keyQueue.parked = { reason: outcome.park, since, replaying: false }
    group.parkings.push({ group: group.name, topic: group.topic, key: keyQueue.key, reason: outcome.park, since })
  } else if (process.isInjected('busRepeat')) keyQueue.next = Math.max(0, keyQueue.next - group.prng.between(0, MAX_REPEATED))
  else {
    keyQueue.next++
    commitSoon(group, keyQueue, owner)
    if (keyQueue.parked?.replaying && keyQueue.next === keyQueue.messages.length) keyQueue.parked = undefined
  }
  finishDelivery(group, keyQueue, owner)
}

function commitSoon(group: GroupState, keyQueue: GroupKeyQueue, owner: BusConsumer): void {
  const done = doneCountOf(keyQueue)
  // Half of the commits are delayed, so that a crash causes redelivery. A key that is replayed commits each message at once.
  if (keyQueue.parked || group.prng.chance(0.5)) commitDone(keyQueue, done)
  else owner.process.later(group.prng.between(1, MAX_UNCOMMITTED_MS), () => commitDone(keyQueue, done), 'bus.keep')
}

/** Frees the handler, and delivers the message again after `waitMs`. */
function deferDelivery(group: GroupState, keyQueue: GroupKeyQueue, owner: BusConsumer, waitMs: number): void {
  const { pool } = keyQueue
  keyQueue.state = 'resting'
  const epoch = ++keyQueue.epoch
  const wake = (): void => {
    if (keyQueue.epoch !== epoch) return
    keyQueue.state = 'idle'
    dispatchNext(group, keyQueue, deliver)
  }
  if (owner.leaving) clearOwner(keyQueue)
  else group.schedule.later(waitMs, wake, `${group.name} rests`)
  releaseWorker(group, owner, pool, deliver)
}

function finishDelivery(group: GroupState, keyQueue: GroupKeyQueue, owner: BusConsumer): void {
  const { pool } = keyQueue
  keyQueue.state = 'idle'
  keyQueue.epoch++
  if (owner.leaving) {
    commitDone(keyQueue, doneCountOf(keyQueue))
    clearOwner(keyQueue)
  } else if (group.consumers.size > 1 && owner.process.isInjected('busRebalance')) {
    // The new owner begins after the last commit of the old owner.
    keyQueue.next = 0
    clearOwner(keyQueue)
  }
  dispatchNext(group, keyQueue, deliver)
  releaseWorker(group, owner, pool, deliver)
}
