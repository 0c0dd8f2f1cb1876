import type { Contract } from '@penstock/contracts/define.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import { categoryOf } from '@penstock/ports/event-store.ts'
import type { Basics } from './basics.ts'
import type { Consumer } from './consume.ts'
import { crashPoint } from './crash-points.ts'
import { derivedId } from './derived-ids.ts'
import { lru } from './lru.ts'
import { type CommandMessage, newCommand } from './messages.ts'
import { sendCommand } from './send.ts'
import type { Ask, Event, Reaction } from './service.ts'
import { spanOfMessage, traceOf } from './trace.ts'
import { type About, streamAttributes, traced } from './tracing.ts'

export type ReactContext = {
  readonly service: string
  readonly owns: (category: string) => boolean
  readonly bus: Bus
  readonly basics: Basics
  readonly decide: (command: CommandMessage) => Promise<unknown>
}

/** More than are under way at a time; what is finished is not asked for any more. */
const REMEMBERED = 8192

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
  // From the first revision that this process has handled to the last, without a gap. What lies before may have been in
  // the hands of a replica that died, so it is not taken for done.
  const seen = lru<string, { readonly first: number; readonly last: number }>(REMEMBERED)
  const spanAt = (stream: string, revision: number) => seen.get(stream) ?? { first: revision, last: revision - 1 }
  const note = (stream: string, revision: number): void => {
    const { first, last } = spanAt(stream, revision)
    seen.set(stream, { first: revision === first - 1 ? revision : first, last: Math.max(last, revision) })
  }
  const wanted = new Set(reactions.map(({ contract, type }) => `${contract.category} ${type}`))
  return {
    name: context.service,
    owner,
    contracts,
    seen: (stream) => Promise.resolve(seen.get(stream)?.last),
    passes({ stream, type, revision }) {
      if (wanted.has(`${categoryOf(stream)} ${type}`)) return false
      note(stream, revision)
      return true
    },
    async apply(event) {
      const stream = `${event.category}-${event.aggregateId}`
      const { revision } = event
      const { first, last } = spanAt(stream, revision)
      if (revision >= first && revision <= last) return
      for (const [index, reaction] of reactions.entries()) {
        if (reaction.contract.category !== event.category || reaction.type !== event.fact.type) continue
        await traced(
          context.basics.tracing,
          () => consuming('react', context.service, event),
          async () => {
            for (const ask of reaction.react(event)) await carryOut(context, event, ask, index)
          },
        )
      }
      crashPoint(`${context.service}.after-reaction`)
      note(stream, revision)
    },
  }
}

/** What a consumer makes of a fact, behind the span that published it. */
export const consuming = (
  verb: string,
  consumer: string,
  { id, category, aggregateId, correlation, revision, fact }: Event,
): About => ({
  name: `${verb} ${fact.type}`,
  trace: traceOf(correlation),
  kind: 'consumer',
  parent: spanOfMessage(id),
  attributes: {
    ...streamAttributes(consumer, category, aggregateId, correlation),
    'penstock.fact': fact.type,
    'penstock.revision': revision,
  },
})

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
  else await sendCommand(context.bus, context.basics.tracing, command)
}
