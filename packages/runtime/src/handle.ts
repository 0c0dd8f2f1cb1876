import { contractOf } from '@penstock/contracts/all.ts'
import type { Contract } from '@penstock/contracts/define.ts'
import { Bug, Fault, must } from '@penstock/kernel/result.ts'
import type { Fact } from '@penstock/kernel/message.ts'
import type { Appended, EventStore, NewEvent } from '@penstock/ports/event-store.ts'
import { inTime } from '@penstock/ports/in-time.ts'
import type { z } from 'zod'
import { persist } from './backoff.ts'
import type { Basics } from './basics.ts'
import { crashPoint } from './crash-points.ts'
import { derivedId } from './derived-ids.ts'
import { seal, stateHash } from './event-codec.ts'
import { appendConflicts, appendsUnknown, factsAppended } from './metrics.ts'
import { type CommandMessage, toDecide } from './messages.ts'
import type { Aggregate, Outcome } from './service.ts'
import { TooNew, upcast } from './upcast.ts'
import { type Loaded, remember, type Streams, streamOf } from './streams.ts'
import { spanOfAppend } from './trace.ts'
import { streamAttributes, traced } from './tracing.ts'

const CONFLICTS_IN_A_ROW = 100

export type HandlerContext<Ports> = {
  readonly service: string
  readonly store: EventStore
  readonly streams: Streams
  readonly ports: Ports & Basics
  readonly signal: AbortSignal
}

/** `news`: whether this call appended anything. Without news the caller has to be told by an outcome, since no fact does. */
export type Handled = Outcome & { readonly news: boolean }

/**
 * Decides a command at its stream: load, fold, decide, append at the expected revision; on a conflict, again.
 * A command that the stream has handled before is answered with what became of it then, and appends nothing.
 * @throws Fault once the process is stopping
 */
export async function handle<Ports>(
  context: HandlerContext<Ports>,
  aggregate: Aggregate<Ports>,
  command: CommandMessage,
  prepared: Prepared,
): Promise<Handled> {
  const stream = streamOf(aggregate, command.aggregateId)
  for (let tries = 0; tries < CONFLICTS_IN_A_ROW; tries++) {
    const loaded = await context.streams.load(aggregate, command.aggregateId)
    const before = loaded.handled.get(command.id)
    if (before !== undefined) return { outcome: 'accepted', revision: before, news: false }
    const decision = decided(aggregate, loaded, command, prepared)
    if ('bug' in decision || 'refused' in decision || decision.facts.length === 0) {
      // Nothing will be appended that could meet a conflict, so whether the fold is the newest is looked up.
      if ((await context.store.read(stream, loaded.revision + 1, 1)).length > 0) context.streams.forget(stream)
      else if ('bug' in decision) throw decision.bug
      else if ('refused' in decision) return { outcome: 'refused', ...decision.refused, news: false }
      else return { outcome: 'accepted', revision: revisionOf(loaded), news: false }
      continue
    }
    const appended = await append(context, aggregate, command, loaded, {
      facts: decision.facts,
      goodUntil: goodUntilOf(prepared),
    })
    if (appended) return { outcome: 'accepted', revision: appended.revision, news: true }
  }
  throw new Fault(`${command.type} met ${CONFLICTS_IN_A_ROW} conflicts in a row`)
}

/** What cannot be may be so only in a fold that is behind: another replica has appended what the command builds on. */
function decided<Ports>(aggregate: Aggregate<Ports>, { state }: Loaded, command: CommandMessage, prepared: Prepared) {
  if ('refused' in prepared) return prepared
  try {
    return aggregate.decider.decide(state, { ...toDecide(command), data: prepared.data })
  } catch (bug) {
    return { bug }
  }
}

/** A command's data as it is decided, and until when by the monotonic clock it counts where that is not for ever; or why it is not decided. */
export type Prepared =
  | { readonly data: object; readonly goodUntil?: number | undefined }
  | { readonly refused: { readonly code: string; readonly message: string } }

const goodUntilOf = (prepared: Prepared): number =>
  ('data' in prepared ? prepared.goodUntil : undefined) ?? Number.POSITIVE_INFINITY

const TOO_LATE = { code: 'TOO_LATE', message: 'The request took too long and was not carried out. Try again.' }

/**
 * What can be done before the stream's turn: the shape is checked, and enrichment asks the outside, which may be slow
 * and must not keep other commands of the stream waiting.
 * @throws Bug for a command whose data is malformed
 * @throws TooNew for one that a newer version has sent
 */
export async function prepare<Ports>(
  context: HandlerContext<Ports>,
  aggregate: Aggregate<Ports>,
  command: CommandMessage,
): Promise<Prepared> {
  const data = checked(command)
  const { handled } = await context.streams.load(aggregate, command.aggregateId)
  if (handled.has(command.id)) return { data }
  if (command.notAfter !== null && context.ports.clock.now() > command.notAfter) return { refused: TOO_LATE }
  const preparedAtMs = context.ports.clock.monotonicMs()
  const enriched = await enrichedData(context, aggregate, command, data)
  const goodUntil = aggregate.goodUntil?.[command.type]
  return { data: enriched, goodUntil: goodUntil?.(enriched as never, preparedAtMs) } // as it was enriched for this command
}

const revisionOf = (loaded: Loaded): number | 'none' => (loaded.revision < 0 ? 'none' : loaded.revision)

/**
 * @throws Bug, so that a malformed message is parked and seen instead of being tried for ever
 * @throws TooNew
 */
function checked(command: CommandMessage): object {
  const shape = contractOf(command.category).commands[command.type]
  if (!shape) throw new TooNew(`${command.category}'s command ${command.type}`)
  const parsed = shape.schema.safeParse(upcast(shape, command.v, command.data, command.type))
  if (!parsed.success) throw new Bug(`${command.type} is malformed: ${issuesOf(parsed.error)}`)
  return parsed.data as object // commands are objects by contract
}

async function enrichedData<Ports>(
  context: HandlerContext<Ports>,
  aggregate: Aggregate<Ports>,
  command: CommandMessage,
  data: object,
): Promise<object> {
  const enrich = aggregate.enrich?.[command.type]
  if (!enrich) return data
  const about = { id: command.aggregateId, at: command.at, ports: context.ports }
  const added = await traced(
    context.ports.tracing,
    () => ({ name: `enrich ${command.type}`, trace: command.trace, attributes: attributesOf(context.service, command) }),
    () => enrich(data as never, about), // the contract has just given the data its shape
  )
  return { ...data, ...added }
}

const attributesOf = (service: string, { category, aggregateId, correlation, type }: CommandMessage) => ({
  ...streamAttributes(service, category, aggregateId, correlation),
  'penstock.command': type,
})

type Decided = { readonly facts: readonly Fact[]; readonly goodUntil: number }

/** A fact is for ever: one that no reader could parse must not be written. @throws Bug */
function checkFact({ facts }: Contract, { type, v, data }: Fact): void {
  const shape = facts[type]
  must(shape?.v === v, `${type} is decided as v${v}, which it is not`)
  const parsed = shape.schema.safeParse(data)
  if (!parsed.success) throw new Bug(`${type} is malformed: ${issuesOf(parsed.error)}`)
}

const issuesOf = ({ issues }: z.ZodError): string => issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; ')

/**
 * @returns undefined after a conflict
 * @throws Fault where what was decided by counts no longer
 */
async function append<Ports>(
  context: HandlerContext<Ports>,
  aggregate: Aggregate<Ports>,
  command: CommandMessage,
  loaded: Loaded,
  { facts, goodUntil }: Decided,
): Promise<{ readonly revision: number } | undefined> {
  const stream = streamOf(aggregate, command.aggregateId)
  for (const fact of facts) checkFact(aggregate.contract, fact)
  const state = facts.reduce(aggregate.decider.evolve, loaded.state)
  const { version, of } = aggregate.hashed
  const project = of[version]
  if (!project) throw new Bug(`${aggregate.contract.category} has no state projection ${version}`)
  const { id, at, correlation, trace } = command
  const hashed = stateHash(version, project(state))
  // All that is sealed is part of its events' ids, and its place too: a replica that decided the same command to other bytes
  // (one of another release hashes another projection of the state), or before it had read all that comes first, meets a
  // conflict and does not take the stored ones for its own.
  const batch = derivedId(id, stream, loaded.chain, at, correlation, trace, hashed, JSON.stringify(facts))
  const sealed = seal(
    { stream, revision: loaded.revision + 1, chain: loaded.chain },
    facts.map((fact, index) => ({
      id: derivedId(batch, index),
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
  crashPoint(`${context.service}.before-append`)
  const since = context.ports.clock.now()
  const appended = await appendKnown(context, stream, loaded, sealed.events, goodUntil)
  if (appended.outcome === 'conflict') {
    appendConflicts.inc({ component: context.service })
    context.streams.forget(stream)
    return undefined
  }
  crashPoint(`${context.service}.after-append`)
  tellAppended(context, command, facts, appended.revision, since)
  remember(loaded.handled, id, appended.revision)
  context.streams.keep(stream, { state, revision: appended.revision, chain: sealed.chain, handled: loaded.handled })
  return appended
}

function tellAppended<Ports>(
  { service, ports }: HandlerContext<Ports>,
  command: CommandMessage,
  facts: readonly Fact[],
  revision: number,
  since: number,
): void {
  const { id, category, trace } = command
  for (const { type } of facts) factsAppended.inc({ category, type })
  ports.tracing?.past(
    {
      name: `append ${facts[0]?.type}`,
      trace,
      kind: 'client',
      id: spanOfAppend(id),
      attributes: {
        ...attributesOf(service, command),
        'penstock.facts': facts.map(({ type }) => type).join(' '),
        'penstock.revision': revision,
      },
    },
    since,
  )
}

/**
 * Appends until the outcome is known: after a fault the same events are tried again at the same revision. Who may go on
 * only up to an instant leaves the outcome open then: the stream is read anew before anything more is decided at it.
 */
async function appendKnown<Ports>(
  context: HandlerContext<Ports>,
  stream: string,
  loaded: Loaded,
  events: readonly NewEvent[],
  goodUntil: number,
): Promise<Appended> {
  const { ports, signal, store, streams } = context
  const expected = revisionOf(loaded)
  const isTooLate = (): boolean => ports.clock.monotonicMs() > goodUntil
  try {
    return await persist(
      ports.clock,
      signal,
      async () => {
        inTime(ports.clock, goodUntil)
        return store.append(stream, expected, events)
      },
      (error, tries) => {
        if (!(error instanceof Fault) || isTooLate()) return false
        appendsUnknown.inc({ component: context.service })
        ports.log.warn({ stream, tries, reason: error.message }, 'an append has no known outcome; trying the same events again')
        return true
      },
    )
  } catch (error) {
    streams.forget(stream)
    throw error
  }
}
