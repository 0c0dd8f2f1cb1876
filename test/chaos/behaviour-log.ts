import type { NodeBehaviour } from '@penstock/adapters/simnet/nodes.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import type { HeightRange } from '../support/invariants/uptime.ts'
import { type CountsByName, countNames } from './counts.ts'

/**
 * A change of a node's behaviour, with times in Unix milliseconds and block heights. A request is repeated if its answer is
 * lost. So the change happened at an unknown moment between the `requested` and the `done` values.
 */
export type BehaviourEntry = {
  readonly alias: string
  readonly behaviour: NodeBehaviour
  readonly requestedAt: number
  readonly doneAt: number
  readonly requestedHeight: number
  readonly doneHeight: number
}

/** A seller's program polls for requests twice per second, so every period of this length contains a poll. */
export const SELLER_POLL_MS = 1000

/** Finds a node's behaviour from `atMs` until its program's next poll. @returns undefined if it may change in that time */
function findCertainBehaviour(behaviourLog: readonly BehaviourEntry[], alias: string, atMs: number): NodeBehaviour | undefined {
  const entries = behaviourLog.filter((entry) => entry.alias === alias)
  const lastEntry = entries.findLast(({ doneAt }) => doneAt <= atMs)
  return entries.some(({ requestedAt, doneAt }) => doneAt > atMs && requestedAt < atMs + SELLER_POLL_MS)
    ? undefined
    : lastEntry?.behaviour
}

/** The fact that an order gets if its seller has the behaviour, even if other faults occur meanwhile. */
const FACT_BY_BEHAVIOUR: Readonly<Record<NodeBehaviour, OrderFact['type']>> = {
  ok: 'OutpointSubmitted',
  slow: 'AttemptFailed',
  silent: 'AttemptFailed',
  'never-open': 'AttemptFailed',
  'wrong-size': 'OutpointSubmitted',
  'wrong-peer': 'OutpointSubmitted',
  vanish: 'OutpointSubmitted',
}

/** Returns whether an order requested its channel since `sinceMs`, and then got the fact that this behaviour leads to. */
export function isBehaviourShownSince(events: readonly Event[], behaviour: NodeBehaviour, sinceMs: number): boolean {
  const requested = new Set<string>()
  return events.some(({ category, aggregateId, at, fact }) => {
    if (category !== 'order') return false
    if (fact.type === 'ChannelOpenRequested' && at >= sinceMs) requested.add(aggregateId)
    return fact.type === FACT_BY_BEHAVIOUR[behaviour] && requested.has(aggregateId)
  })
}

/** Counts the requests to open a channel by the seller's behaviour. It omits requests at which the behaviour is uncertain. */
export function countOpeningsByBehaviour(
  events: readonly Event[],
  behaviourLog: readonly BehaviourEntry[],
  aliasOf: (pubkey: string) => string | undefined,
): CountsByName {
  const sellers = new Map<string, string>()
  const requested: string[] = []
  for (const { category, aggregateId, at, fact } of events) {
    if (category !== 'order') continue
    const { type, data } = fact as OrderFact // The category determines the type.
    if (type === 'AttemptStarted') sellers.set(`${aggregateId} ${data.attempt}`, data.candidate.sellerPubkey)
    if (type !== 'ChannelOpenRequested') continue
    const alias = aliasOf(sellers.get(`${aggregateId} ${data.attempt}`) ?? '')
    const behaviour = alias === undefined ? undefined : findCertainBehaviour(behaviourLog, alias, at)
    if (behaviour !== undefined) requested.push(behaviour)
  }
  return countNames(requested)
}

/** Lists the height ranges in which a node did not answer. @param untilHeight the last height that counts */
export const findSilences = (
  behaviourLog: readonly BehaviourEntry[],
  alias: string,
  untilHeight: number,
): readonly HeightRange[] => {
  const entries = behaviourLog.filter((entry) => entry.alias === alias)
  return entries.flatMap(({ behaviour, requestedHeight }, index) =>
    behaviour === 'silent' ? [{ from: requestedHeight, to: entries[index + 1]?.doneHeight ?? untilHeight }] : [],
  )
}
