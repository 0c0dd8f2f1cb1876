import { contractOf } from '@penstock/contracts/contracts.ts'
import type { Contract } from '@penstock/contracts/define.ts'
import { Bug, Fault, assert } from '@penstock/kernel/result.ts'
import type { Fact } from '@penstock/kernel/message.ts'
import type { AppendOutcome, EventStore, NewEvent } from '@penstock/ports/event-store.ts'
import { assertBeforeDeadline } from '@penstock/kernel/deadline.ts'
import type { z } from 'zod'
import { retryUntil } from '../retry.ts'
import type { BasePorts } from '../base-ports.ts'
import { hitCrashPoint } from '../crash-points.ts'
import { deriveId } from './derived-ids.ts'
import { sealFacts, hashState } from './event-codec.ts'
import { appendConflicts, appendsUnknown, factsAppended } from '../observability/metrics.ts'
import { type CommandMessage, toCommand } from './messages.ts'
import type { Aggregate, CommandOutcome } from '../service.ts'
import { NewerVersionFault, upcast } from './upcast.ts'
import { type LoadedStream, rememberCommand, type StreamCache, streamNameOf } from './stream-cache.ts'
import { deriveAppendSpanId } from '../observability/trace-ids.ts'
import { streamAttributes, withSpan } from '../observability/tracing.ts'

const MAX_CONFLICTS = 100

export type HandlerContext<Ports> = {
  readonly service: string
  readonly store: EventStore
  readonly streams: StreamCache
  readonly ports: Ports & BasePorts
  readonly signal: AbortSignal
}

/** `hasAppended`: whether this call appended facts. If not, the sender needs an outcome message, because there is no fact. */
export type HandledCommand = CommandOutcome & { readonly hasAppended: boolean }

/**
 * Decides a command at its stream: loads the stream, decides, appends at the expected revision, and retries after a conflict.
 * A command that the stream has handled before gets its first outcome, and appends nothing.
 * @throws Fault once the process is stopping
 */
export async function handleCommand<Ports>(
  context: HandlerContext<Ports>,
  aggregate: Aggregate<Ports>,
  command: CommandMessage,
  prepared: PreparedCommand,
): Promise<HandledCommand> {
  const stream = streamNameOf(aggregate, command.aggregateId)
  for (let tries = 0; tries < MAX_CONFLICTS; tries++) {
    const loaded = await context.streams.load(aggregate, command.aggregateId)
    const before = loaded.handled.get(command.id)
    if (before !== undefined) return { outcome: 'accepted', revision: before, hasAppended: false }
    const decision = tryDecide(aggregate, loaded, command, prepared)
    if ('bug' in decision || 'refused' in decision || decision.facts.length === 0) {
      // Without an append, no conflict reveals a stale fold, so the store is read for newer events.
      if ((await context.store.read(stream, loaded.revision + 1, 1)).length > 0) context.streams.forget(stream)
      else if ('bug' in decision) throw decision.bug
      else if ('refused' in decision) return { outcome: 'refused', ...decision.refused, hasAppended: false }
      else return { outcome: 'accepted', revision: revisionOf(loaded), hasAppended: false }
      continue
    }
    const appended = await appendFacts(context, aggregate, command, loaded, {
      facts: decision.facts,
      validUntil: prepared.validUntil ?? Number.POSITIVE_INFINITY,
    })
    if (appended) return { outcome: 'accepted', revision: appended.revision, hasAppended: true }
  }
  throw new Fault(`${command.type} met ${MAX_CONFLICTS} conflicts in a row`)
}

/** Returns a thrown error, because the fold may be stale: another replica may have appended facts that the command needs. */
function tryDecide<Ports>(
  aggregate: Aggregate<Ports>,
  { state }: LoadedStream,
  command: CommandMessage,
  prepared: PreparedCommand,
) {
  try {
    return aggregate.decider.decide(state, { ...toCommand(command), data: prepared.data })
  } catch (bug) {
    return { bug }
  }
}

/** A command's data at its decision. `validUntil`: its deadline by the monotonic clock, if it has one. */
export type PreparedCommand = { readonly data: object; readonly validUntil?: number | undefined }

/**
 * Validates and enriches a command before its turn at the stream. Enrichment calls the outside world, which may be slow and
 * must not delay other commands of the stream.
 * @throws Bug if the command's data is malformed
 * @throws NewerVersionFault if a newer version has sent the command
 */
export async function prepareCommand<Ports>(
  context: HandlerContext<Ports>,
  aggregate: Aggregate<Ports>,
  command: CommandMessage,
): Promise<PreparedCommand> {
  const data = validateData(command)
  const { handled } = await context.streams.load(aggregate, command.aggregateId)
  if (handled.has(command.id)) return { data }
  const preparedAtMs = context.ports.clock.monotonicMs()
  const enriched = await enrichData(context, aggregate, command, data)
  const validUntil = aggregate.validUntil?.[command.type]
  return { data: enriched, validUntil: validUntil?.(enriched as never, preparedAtMs) } // The data was enriched for this command.
}

const revisionOf = (loaded: LoadedStream): number | 'none' => (loaded.revision < 0 ? 'none' : loaded.revision)

/**
 * @throws Bug if the data is malformed, so that the message is parked instead of retried for ever
 * @throws NewerVersionFault for an unknown type or a newer version
 */
function validateData(command: CommandMessage): object {
  const shape = contractOf(command.category).commands[command.type]
  if (!shape) throw new NewerVersionFault(`${command.category}'s command ${command.type}`)
  const parsed = shape.schema.safeParse(upcast(shape, command.v, command.data, command.type))
  if (!parsed.success) throw new Bug(`${command.type} is malformed: ${issuesOf(parsed.error)}`)
  return parsed.data as object // Commands are objects by contract.
}

async function enrichData<Ports>(
  context: HandlerContext<Ports>,
  aggregate: Aggregate<Ports>,
  command: CommandMessage,
  data: object,
): Promise<object> {
  const enrich = aggregate.enrich?.[command.type]
  if (!enrich) return data
  const about = { id: command.aggregateId, at: command.at, ports: context.ports }
  const added = await withSpan(
    context.ports.tracing,
    () => ({ name: `enrich ${command.type}`, trace: command.trace, attributes: spanAttributes(context.service, command) }),
    () => enrich(data as never, about), // The contract's schema has just parsed the data.
  )
  return { ...data, ...added }
}

const spanAttributes = (service: string, { category, aggregateId, correlation, type }: CommandMessage) => ({
  ...streamAttributes(service, category, aggregateId, correlation),
  'penstock.command': type,
})

type DecidedFacts = { readonly facts: readonly Fact[]; readonly validUntil: number }

/** Facts are permanent, so a fact that no reader could parse must not be written. @throws Bug */
function assertValidFact({ facts }: Contract, { type, v, data }: Fact): void {
  const shape = facts[type]
  assert(shape?.v === v, `${type} was decided as v${v}, which is not its current version`)
  const parsed = shape.schema.safeParse(data)
  if (!parsed.success) throw new Bug(`${type} is malformed: ${issuesOf(parsed.error)}`)
}

const issuesOf = ({ issues }: z.ZodError): string => issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; ')

/**
 * @returns undefined after a conflict
 * @throws Fault if the data of the decision is no longer valid
 */
async function appendFacts<Ports>(
  context: HandlerContext<Ports>,
  aggregate: Aggregate<Ports>,
  command: CommandMessage,
  loaded: LoadedStream,
  { facts, validUntil }: DecidedFacts,
): Promise<{ readonly revision: number } | undefined> {
  const stream = streamNameOf(aggregate, command.aggregateId)
  for (const fact of facts) assertValidFact(aggregate.contract, fact)
  const state = facts.reduce(aggregate.decider.evolve, loaded.state)
  const { version, projections } = aggregate.hashed
  const project = projections[version]
  if (!project) throw new Bug(`${aggregate.contract.category} has no state projection ${version}`)
  const { id, at, correlation, trace } = command
  const hashed = hashState(version, project(state))
  // The ids of events are derived from all sealed data and its place. Another replica may seal the same command into other
  // bytes, because its release hashes another projection of the state, or because its fold is stale. With other ids it gets
  // a conflict, and does not mistake the stored events for its own.
  const batch = deriveId(id, stream, loaded.chain, at, correlation, trace, hashed, JSON.stringify(facts))
  const sealed = sealFacts(
    { stream, revision: loaded.revision + 1, chain: loaded.chain },
    facts.map((fact, index) => ({
      id: deriveId(batch, index),
      fact,
      meta: {
        command: id,
        at,
        correlation,
        trace,
        ...(index === facts.length - 1 && { state: hashed }),
      },
    })),
  )
  hitCrashPoint(`${context.service}.before-append`)
  const since = context.ports.clock.now()
  const appended = await appendUntilKnown(context, stream, loaded, sealed.events, validUntil)
  if (appended.outcome === 'conflict') {
    appendConflicts.inc({ component: context.service })
    context.streams.forget(stream)
    return undefined
  }
  hitCrashPoint(`${context.service}.after-append`)
  recordAppend(context, command, facts, appended.revision, since)
  rememberCommand(loaded.handled, id, appended.revision)
  context.streams.put(stream, { state, revision: appended.revision, chain: sealed.chain, handled: loaded.handled })
  return appended
}

function recordAppend<Ports>(
  { service, ports }: HandlerContext<Ports>,
  command: CommandMessage,
  facts: readonly Fact[],
  revision: number,
  since: number,
): void {
  const { id, category, trace } = command
  for (const { type } of facts) factsAppended.inc({ category, type })
  ports.tracing?.recordSpan(
    {
      name: `append ${facts[0]?.type}`,
      trace,
      kind: 'client',
      id: deriveAppendSpanId(id),
      attributes: {
        ...spanAttributes(service, command),
        'penstock.facts': facts.map(({ type }) => type).join(' '),
        'penstock.revision': revision,
      },
    },
    since,
  )
}

/**
 * Appends until the outcome is known. After a fault the same events are retried at the same revision. After `validUntil` the
 * outcome stays unknown, and the stream is read again before the next decision.
 */
async function appendUntilKnown<Ports>(
  context: HandlerContext<Ports>,
  stream: string,
  loaded: LoadedStream,
  events: readonly NewEvent[],
  validUntil: number,
): Promise<AppendOutcome> {
  const { ports, signal, store, streams } = context
  const expected = revisionOf(loaded)
  const isTooLate = (): boolean => ports.clock.monotonicMs() > validUntil
  try {
    return await retryUntil(
      ports,
      signal,
      async () => {
        assertBeforeDeadline(ports.clock, validUntil)
        return store.append(stream, expected, events)
      },
      (error, tries) => {
        if (!(error instanceof Fault) || isTooLate()) return false
        appendsUnknown.inc({ component: context.service })
        ports.log.warn({ stream, tries, reason: error.message }, 'the outcome of an append is unknown; retrying the same events')
        return true
      },
    )
  } catch (error) {
    streams.forget(stream)
    throw error
  }
}
