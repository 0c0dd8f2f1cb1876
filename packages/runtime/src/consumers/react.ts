import type { Contract } from '@penstock/contracts/define.ts'
import { Bug } from '@penstock/kernel/result.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { BasePorts } from '../base-ports.ts'
import type { Acknowledgements } from './acknowledgements.ts'
import type { Consumer } from './consumer.ts'
import { hitCrashPoint } from '../crash-points.ts'
import { deriveId } from '../commands/derived-ids.ts'
import { LRUCache } from 'lru-cache'
import { STREAM_CACHE_SIZE } from '../stream-cache-size.ts'
import { type CommandMessage, newCommand } from '../commands/messages.ts'
import { sendCommand } from '../commands/send-command.ts'
import type { Event, Reaction } from '../service.ts'
import { deriveMessageSpanId, deriveTraceId } from '../observability/trace-ids.ts'
import { type SpanDescription, streamAttributes, withSpan } from '../observability/tracing.ts'

export type ReactorContext = {
  readonly service: string
  readonly owns: (category: string) => boolean
  readonly bus: Bus
  readonly basePorts: BasePorts
  readonly decide: (command: CommandMessage) => Promise<unknown>
  readonly acknowledgements?: Acknowledgements | undefined
}

/**
 * Turns the facts of one owner into commands. Progress is saved afterwards, because a repeated fact derives the same command
 * ids, and streams drop commands that they have handled.
 */
export function createReactor(
  context: ReactorContext,
  owner: string,
  contracts: readonly Contract[],
  reactions: readonly Reaction[],
): Consumer {
  // The consecutive revisions that this process has handled. Earlier revisions do not count as handled, because a replica
  // may have crashed before it handled them.
  const handledRanges = new LRUCache<string, { readonly first: number; readonly last: number }>({ max: STREAM_CACHE_SIZE })
  const handledRange = (stream: string, revision: number) => handledRanges.get(stream) ?? { first: revision, last: revision - 1 }
  const markHandled = (stream: string, revision: number): void => {
    const { first, last } = handledRange(stream, revision)
    handledRanges.set(stream, { first: revision === first - 1 ? revision : first, last: Math.max(last, revision) })
  }
  const reactionsByFact = indexByFact(context.service, reactions)
  const { acknowledgements } = context
  return {
    name: context.service,
    owner,
    contracts,
    lastRevision: (stream) => Promise.resolve(handledRanges.get(stream)?.last),
    isIgnored({ stream, type, revision }) {
      const category = categoryOf(stream)
      if (reactionsByFact.has(`${category} ${type}`) || acknowledgements?.isAcknowledging(category, type)) return false
      markHandled(stream, revision)
      return true
    },
    async apply(event) {
      const stream = `${event.category}-${event.aggregateId}`
      const { revision } = event
      const { first, last } = handledRange(stream, revision)
      if (revision >= first && revision <= last) return
      const reacting = reactionsByFact.get(`${event.category} ${event.fact.type}`)
      if (reacting)
        await withSpan(
          context.basePorts.tracing,
          () => describeConsumerSpan('react', context.service, event),
          async () => {
            for (const command of deriveCommands(context, reacting, event)) await dispatchCommand(context, command)
          },
        )
      if (acknowledgements?.isAcknowledging(event.category, event.fact.type)) acknowledgements.recordFact(event)
      hitCrashPoint(`${context.service}.after-reaction`)
      markHandled(stream, revision)
    },
    ...(acknowledgements && { outcome: (outcome) => Promise.resolve(acknowledgements.recordOutcome(outcome)) }),
  }
}

/** Describes the span in which a consumer handles a fact. Its parent is the span that published the fact. */
export const describeConsumerSpan = (
  verb: string,
  consumer: string,
  { id, category, aggregateId, correlation, revision, fact }: Event,
): SpanDescription => ({
  name: `${verb} ${fact.type}`,
  trace: deriveTraceId(correlation),
  kind: 'consumer',
  parent: deriveMessageSpanId(id),
  attributes: {
    ...streamAttributes(consumer, category, aggregateId, correlation),
    'penstock.fact': fact.type,
    'penstock.revision': revision,
  },
})

/** Allows one reaction for each fact and command, because the ids of commands do not distinguish reactions. */
function indexByFact(service: string, reactions: readonly Reaction[]): ReadonlyMap<string, readonly Reaction[]> {
  const found = new Map<string, readonly Reaction[]>()
  for (const reaction of reactions) {
    const fact = `${reaction.contract.category} ${reaction.type}`
    const others = found.get(fact) ?? []
    if (others.some(({ sends }) => sends === reaction.sends))
      throw new Bug(`${service} has two reactions to ${fact} that send ${reaction.sends}: their commands could have one id`)
    found.set(fact, [...others, reaction])
  }
  return found
}

/** The ids do not depend on a reaction's place in the list, so that replicas of two releases derive the same ids. */
function deriveCommands(
  { service, basePorts }: ReactorContext,
  reactions: readonly Reaction[],
  event: Event,
): readonly CommandMessage[] {
  const { category, fact, correlation } = event
  const requests = reactions.flatMap(({ react }) => react(event))
  const commands = requests.map((request) => {
    const id = deriveId(event.id, service, category, fact.type, request.category, request.id, request.command.type)
    const at = basePorts.clock.now()
    return newCommand({ id, category: request.category, aggregateId: request.id, command: request.command, at, correlation })
  })
  if (new Set(commands.map(({ id }) => id)).size < commands.length)
    throw new Bug(`${service} answers ${category} ${fact.type} with one command to one stream twice`)
  return commands
}

async function dispatchCommand(
  { service, owns, decide, bus, basePorts }: ReactorContext,
  command: CommandMessage,
): Promise<void> {
  if (owns(command.category)) await decide(command)
  else await sendCommand(service, bus, basePorts.tracing, command)
}
