import { ownCategories } from '@penstock/audit/order-streams.ts'
import type { NodeBehaviour } from '@penstock/adapters/simnet/nodes.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { Injection } from '../plan/triggers.ts'
import { isExpectedRefusal, RefusedByMarket } from '../world/gateway-access.ts'
import { payoutInjections } from './payouts.ts'
import { type InjectionContext, findTarget } from './injection-context.ts'
import { peopleInjections } from './people.ts'
import { networkInjections } from './network.ts'

/** Runs each injection of the plan when the fact of its trigger has been appended. */
export type TriggerRunner = {
  /** Facts that are appended after this call can start injections. */
  start(context: InjectionContext): void
  /** Matches the facts since the last call with the triggers. The caller calls it between two steps of the simulation. */
  processNewFacts(): void
  /** Facts that are appended after this call start no injection. */
  stop(): void
  readonly isIdle: () => boolean
}

const injectionsByName = { ...peopleInjections, ...payoutInjections, ...networkInjections }

export function createTriggerRunner(): TriggerRunner {
  let context: InjectionContext | undefined
  let [nextEvent, running] = [0, 0]
  const counts = new Map<string, number>()

  async function runInjection(
    injectionContext: InjectionContext,
    id: string,
    { name: injectionName, afterMs, amount }: Injection,
  ): Promise<void> {
    running += 1
    try {
      await injectionContext.world.engine.schedule.clock.sleep(afterMs)
      const target = findTarget(injectionContext, id)
      if (!target) return
      injectionContext.world.trace.note(`on cue: ${injectionName} (${amount}) at ${id}`)
      await injectionsByName[injectionName](injectionContext, target, amount)
      injectionContext.world.countOccurrence(`stroke: ${injectionName}`)
    } catch (error) {
      // A refused injection counts too, because the market has handled it.
      if (error instanceof RefusedByMarket) injectionContext.world.countOccurrence(`stroke: ${injectionName}`)
      if (!isExpectedRefusal(error)) injectionContext.world.unexpectedErrors.push(error)
      injectionContext.world.trace.note(
        `on cue: ${injectionName}: ${error instanceof RefusedByMarket ? error.message : String(error)}`,
      )
    } finally {
      running -= 1
    }
  }

  function matchTriggers(injectionContext: InjectionContext, { category, aggregateId, fact }: Event): void {
    const name = `${category} ${fact.type}`
    const nth = (counts.get(name) ?? 0) + 1
    counts.set(name, nth)
    // For a fact of a stream that is not an order's own, the injection acts on the newest order.
    const id = ownCategories.includes(category)
      ? aggregateId
      : injectionContext.log.events.findLast((event) => event.category === 'order')?.aggregateId
    if (id === undefined) return
    if (name === 'order ChannelOpenRequested') countBehaviour(injectionContext, id)
    for (const trigger of injectionContext.world.plan.triggers)
      if (trigger.factType === name && trigger.nth === nth)
        for (const injection of trigger.injections) void runInjection(injectionContext, id, injection)
  }

  return {
    start(injectionContext) {
      context = injectionContext
      nextEvent = injectionContext.log.events.length
    },
    processNewFacts() {
      if (!context) return
      for (let event = context.log.events[nextEvent]; event; event = context.log.events[nextEvent]) {
        nextEvent += 1
        matchTriggers(context, event)
      }
    },
    stop() {
      context = undefined
    },
    isIdle: () => running === 0,
  }
}

/** Counts the behaviour of a seller's node when the order requests the opening of a channel. */
function countBehaviour(context: InjectionContext, id: string): void {
  const seller = findTarget(context, id)?.order.attempts.at(-1)?.candidate.sellerPubkey
  const rows = context.world.simnet.rows<{ behaviour: NodeBehaviour }>(`SELECT behaviour FROM nodes WHERE pubkey = '${seller}'`)
  for (const { behaviour } of rows) context.world.countOccurrence(`asked to open: ${behaviour}`)
}
