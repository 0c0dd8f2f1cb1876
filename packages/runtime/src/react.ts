import type { Contract } from '@penstock/contracts/define.ts'
import { Bug } from '@penstock/kernel/result.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import { categoryOf } from '@penstock/ports/event-store.ts'
import type { Basics } from './basics.ts'
import type { Consumer } from './consumer.ts'
import { crashPoint } from './crash-points.ts'
import { derivedId } from './derived-ids.ts'
import { lru, STREAMS_UNDER_WAY } from './lru.ts'
import { type CommandMessage, newCommand } from './messages.ts'
import { sendCommand } from './send.ts'
import type { Event, Reaction } from './service.ts'
import { spanOfMessage, traceOf } from './trace.ts'
import { type About, streamAttributes, traced } from './tracing.ts'

export type ReactContext = {
  readonly service: string
  readonly owns: (category: string) => boolean
  readonly bus: Bus
  readonly basics: Basics
  readonly decide: (command: CommandMessage) => Promise<unknown>
}

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
  const seen = lru<string, { readonly first: number; readonly last: number }>(STREAMS_UNDER_WAY)
  const spanAt = (stream: string, revision: number) => seen.get(stream) ?? { first: revision, last: revision - 1 }
  const note = (stream: string, revision: number): void => {
    const { first, last } = spanAt(stream, revision)
    seen.set(stream, { first: revision === first - 1 ? revision : first, last: Math.max(last, revision) })
  }
  const wanted = byFact(context.service, reactions)
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
      const reaction = wanted.get(`${event.category} ${event.fact.type}`)
      if (reaction)
        await traced(
          context.basics.tracing,
          () => consuming('react', context.service, event),
          async () => {
            for (const command of commandsOf(context, reaction, event)) await carryOut(context, command)
          },
        )
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

/** One for each fact, since the ids of its commands do not tell reactions apart. */
function byFact(service: string, reactions: readonly Reaction[]): ReadonlyMap<string, Reaction> {
  const found = new Map<string, Reaction>()
  for (const reaction of reactions) {
    const fact = `${reaction.contract.category} ${reaction.type}`
    if (found.has(fact)) throw new Bug(`${service} has two reactions to ${fact}: their commands could have one id`)
    found.set(fact, reaction)
  }
  return found
}

/** Their ids say nothing of where a reaction stands, so that replicas of two releases derive the same. */
function commandsOf({ service, basics }: ReactContext, { react }: Reaction, event: Event): readonly CommandMessage[] {
  const { category, fact, correlation } = event
  const commands = react(event).map((ask) => {
    const step = ask.step ?? ask.command.type
    const id = derivedId(event.id, service, category, fact.type, ask.category, ask.id, step)
    const at = basics.clock.now()
    return newCommand({ id, category: ask.category, aggregateId: ask.id, command: ask.command, at, correlation })
  })
  if (new Set(commands.map(({ id }) => id)).size < commands.length)
    throw new Bug(`${service} answers ${category} ${fact.type} with commands to one stream that need steps of their own`)
  return commands
}

async function carryOut({ owns, decide, bus, basics }: ReactContext, command: CommandMessage): Promise<void> {
  if (owns(command.category)) await decide(command)
  else await sendCommand(bus, basics.tracing, command)
}
