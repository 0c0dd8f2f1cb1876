import { contractOf } from '@penstock/contracts/all.ts'
import type { Contract } from '@penstock/contracts/define.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import type { Basics } from './basics.ts'
import type { Consumer } from './consume.ts'
import { crashPoint } from './crash-points.ts'
import { derivedId } from './derived-ids.ts'
import { lru } from './lru.ts'
import { type CommandMessage, commandToBus, commandTopic, newCommand } from './messages.ts'
import type { Ask, Event, Reaction } from './service.ts'

export type ReactContext = {
  readonly service: string
  readonly owns: (category: string) => boolean
  readonly bus: Bus
  readonly basics: Basics
  readonly decide: (command: CommandMessage) => Promise<unknown>
}

const REMEMBERED = 50_000

/**
 * Turns the facts of one owner into commands. Progress is kept afterwards: a repetition derives the same command ids,
 * and the streams drop what they have handled.
 */
export function reactor(
  context: ReactContext,
  owner: string,
  contracts: readonly Contract[],
  reactions: readonly Reaction[],
): Consumer {
  const seen = lru<string, number>(REMEMBERED)
  return {
    name: context.service,
    owner,
    contracts,
    seen: (stream) => Promise.resolve(seen.get(stream)),
    async apply(event) {
      const stream = `${event.category}-${event.aggregateId}`
      const last = seen.get(stream)
      if (last !== undefined && event.revision <= last) return
      for (const [index, reaction] of reactions.entries()) {
        if (reaction.contract.category !== event.category || reaction.type !== event.fact.type) continue
        for (const ask of reaction.react(event)) await carryOut(context, event, ask, index)
      }
      crashPoint(`${context.service}.after-reaction`)
      seen.set(stream, event.revision)
    },
  }
}

async function carryOut(context: ReactContext, event: Event, ask: Ask, reaction: number): Promise<void> {
  const command = newCommand({
    id: derivedId(event.id, context.service, reaction, ask.category, ask.id, ask.step ?? ask.command.type),
    category: ask.category,
    aggregateId: ask.id,
    command: ask.command,
    at: context.basics.clock.now(),
    correlation: event.correlation,
  })
  if (context.owns(ask.category)) await context.decide(command)
  else await context.bus.publish(commandTopic(contractOf(ask.category).owner), [commandToBus(command)])
}
