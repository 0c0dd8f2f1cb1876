import { type CommandDataByName, type CommandName, contractOf } from '@penstock/contracts/contracts.ts'
import type { Contract, MessageData } from '@penstock/contracts/define.ts'
import type { Decider } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import type { AddressedCommand, CommandBody, Process } from '@penstock/kernel/process.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Transaction } from 'kysely'
import type { BasePorts } from './base-ports.ts'
import type { OutcomeMessage } from './commands/messages.ts'

/** A fact in the form that consumers get, with its place in its stream and its cause. */
export type Event<F extends Fact = Fact> = {
  readonly id: string
  readonly category: string
  /** The aggregate's id, without the category. */
  readonly aggregateId: string
  readonly revision: number
  readonly position: bigint
  readonly at: number
  readonly commandId: string
  /** The id of the order that the fact is about, if there is one. Logs contain it. */
  readonly correlation: string
  /** Present if more facts of the same append follow. */
  readonly hasMore?: true
  readonly fact: F
}

/** The outcome of a command. `revision` is the stream's revision afterwards; 'none' if there is no stream. */
export type CommandOutcome =
  | { readonly outcome: 'accepted'; readonly revision: number | 'none' }
  | { readonly outcome: 'refused'; readonly code: string; readonly message: string }

/** Fetches data for a decision from outside the stream (heights, rates, candidates). It has no side effects. */
export type Enricher<Ports> = (
  data: never,
  about: { readonly id: string; readonly at: number; readonly ports: Ports & BasePorts },
) => Promise<object>

export type EffectContext<Ports> = {
  readonly id: string
  readonly ports: Ports & BasePorts
  readonly signal: AbortSignal
  /** Checks the state again, because another replica may have performed the effect, or this process may have paused. */
  readonly isStillRequested: () => Promise<boolean>
}

/**
 * Acts on the outside world, and returns a command that records the outcome; null if there is no outcome to record. It may
 * run again after a crash, so it checks first whether the work was done. It throws `Fault` to be retried with back-off.
 */
export type Effect<S, C extends Command, Ports> = (state: S, context: EffectContext<Ports>) => Promise<CommandBody<C> | null>

/** The names of the functions of ports, as `<port>.<function>`, or `<port>.<part>.<function>`. */
type CallName<Ports> = {
  [Key in keyof Ports & string]: Ports[Key] extends (...args: never) => unknown
    ? Key
    : Ports[Key] extends object
      ? `${Key}.${CallName<Ports[Key]>}`
      : never
}[keyof Ports & string]

/** An effect, with the functions of ports that it calls, and the types of the commands that record its outcome. */
export type EffectSpec<S, Ports, Outcome extends string = string> = {
  readonly calls: readonly string[]
  readonly outcomes: readonly Outcome[]
  readonly act: (state: S, context: EffectContext<Ports>) => Promise<{ readonly type: Outcome; readonly data: object } | null>
}

export const defineEffect = <S, Ports, const Outcome extends string>(spec: {
  readonly calls: readonly CallName<Ports>[]
  readonly outcomes: readonly Outcome[]
  readonly act: EffectSpec<S, Ports, NoInfer<Outcome>>['act']
}): EffectSpec<S, Ports, Outcome> => spec

/**
 * Projections of the state, which are hashed after each append. In a replay the hash proves that today's code derives the
 * same state. Old versions of a projection stay.
 */
export type StateProjections<S> = {
  readonly version: number
  readonly projections: Readonly<Record<number, (state: S) => unknown>>
}

export type AggregateSpec<S, C extends Command, E extends Fact, Ports, Effects extends string> = {
  readonly contract: Contract
  readonly decider: Decider<S, C, E>
  readonly hashed: StateProjections<S>
  /** The enrichers by type of command. An enricher runs before the decision. */
  readonly enrich?: Readonly<Record<string, Enricher<Ports>>>
  /**
   * The deadlines of enriched data on the monotonic clock, by type of command. After its deadline nothing is appended: the
   * command ends with a fault, and its sender retries. `preparedAtMs` is the time before the enrichment.
   */
  readonly validUntil?: Readonly<Record<string, (data: never, preparedAtMs: number) => number>>
  // The commands of a process are enriched before the decision like all others, so they do not have the decider's own type.
  readonly process?: Process<S, Command, Effects>
  readonly effects?: Readonly<Record<Effects, EffectSpec<S, Ports, C['type']>>>
  /**
   * The steps of the process that each fact may add: an effect by its name, a deadline by the type of its command, and a command
   * to another stream as `<category>.<type>`.
   */
  readonly follows?: Readonly<Partial<Record<E['type'], readonly (NoInfer<Effects> | C['type'] | CommandName)[]>>>
  /**
   * Commands that the process sends until their receiver has handled them, which no fact of this stream records. Each goes to
   * the stream of another service with the same id. A fact or an outcome of that stream shows that the command was handled.
   */
  readonly sentUntilHandled?: readonly CommandName[]
  /** Milliseconds to wait after a try without an outcome, by effect. Each further such try doubles the wait, up to 5 s. */
  readonly retryDelaysMs?: Readonly<Partial<Record<Effects, number>>>
  /** The order that a stream is about, for logs and traces; by default the aggregate's id. */
  readonly correlation?: (id: string, state: S) => string
}

export const isSentUntilHandled = (commands: readonly CommandName[] = [], { category, command }: AddressedCommand): boolean =>
  commands.some((name) => name === `${category}.${command.type}`)

/** An aggregate whose types only its own file knows; the runtime handles its states, facts and commands untyped. */
export type Aggregate<Ports> = AggregateSpec<unknown, Command, Fact, Ports, string>

/** Hides the types of an aggregate from the runtime. */
export const defineAggregate = <S, C extends Command, E extends Fact, Ports, Effects extends string = never>(
  spec: AggregateSpec<S, C, E, Ports, Effects>,
): Aggregate<Ports> => spec as unknown as Aggregate<Ports> // The runtime passes a spec only its own states, facts and commands.

/** Turns a fact of another stream into commands. Commands for own aggregates are decided directly; others use the bus. */
export type Reaction = {
  readonly contract: Contract
  readonly type: string
  readonly sends: CommandName
  readonly react: (event: Event) => readonly AddressedCommand[]
}

/** Sends the command to the streams that `react` returns. */
export const on = <C extends Contract, T extends keyof C['facts'] & string, Name extends CommandName>(
  contract: C,
  type: T,
  sends: Name,
  react: (
    data: MessageData<C['facts'][T]>,
    event: Event,
  ) => readonly { readonly id: string; readonly data: CommandDataByName<Name> & object }[],
): Reaction => {
  const [category = '', commandType = ''] = sends.split('.')
  return {
    contract,
    type,
    sends,
    react: (event) =>
      // The contract's upcasters gave the data this shape.
      react(event.fact.data as MessageData<C['facts'][T]>, event).map(({ id, data }) => ({
        category,
        id,
        command: { type: commandType, data },
      })),
  }
}

/**
 * A read model in tables: rows and progress change in one transaction, so every event counts once. A new version is built
 * from the store while the old version is in use.
 */
export type Projection = {
  readonly name: string
  readonly version: number
  readonly from: readonly Contract[]
  /** Migrates the tables forward at each start. If their shapes change, their names contain the version. */
  readonly migrate: (views: Views) => Promise<void>
  /** The tables that are derived from facts only, for a rebuild. */
  readonly tables?: readonly string[]
  /**
   * Applies the facts of one transaction in their order; several facts may belong to one stream. The transaction sees the
   * projection's tables; type it with `trx.$extendTables<...>()`.
   */
  readonly apply: (trx: Transaction<object>, events: readonly Event[]) => Promise<void>
  /** Applies the outcome of a command without a fact: a refusal, or no change. */
  readonly outcome?: (trx: Transaction<object>, outcome: OutcomeMessage) => Promise<void>
  /** Called after the commit, to wake waiting readers. */
  readonly onCommitted?: (events: readonly Event[]) => void
  readonly onOutcomeCommitted?: (outcome: OutcomeMessage) => void
}

/** A read model in memory, which is built from the store at every start. */
export type MemoryView = {
  readonly name: string
  readonly from: readonly Contract[]
  readonly apply: (event: Event) => void
}

/** The operations that a service's own jobs may use. */
export type ServiceContext<Ports> = {
  readonly ports: Ports & BasePorts
  /** Decides a command at an own aggregate directly, without the bus. A repeated `commandId` changes nothing. */
  readonly decide: (request: AddressedCommand, commandId: string) => Promise<CommandOutcome>
  /** Sends a command to any aggregate over the bus. */
  readonly send: (request: AddressedCommand, options: SendOptions) => Promise<void>
  /** The present state of an own stream, by an own aggregate's category. */
  readonly load: (category: string, id: string) => Promise<{ readonly state: unknown; readonly revision: number | 'none' }>
  /** Ids of the open streams of an own category, whose process has not ended. */
  readonly listOpenStreams: (category: string) => Promise<readonly string[]>
  /** Runs the stream's process now, so that effects start even if the bus does not work. */
  readonly runProcess: (category: string, id: string) => Promise<void>
  /**
   * Runs work for which one replica suffices: whenever this replica has the lease, until `signal`. A paused replica may
   * continue for a moment after another replica has taken over, so concurrent work must be harmless. Do not use it for the
   * guard of holds.
   */
  readonly withLease: (name: string, work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal) => Promise<void>
}

export type SendOptions = {
  readonly commandId: string
  readonly correlation: string
  readonly notAfter?: number
  readonly at?: number
}

/** A background job of a service. It runs until the signal, and restarts with back-off if it throws. */
export type ServiceJob<Ports> = {
  readonly name: string
  /** Marks a job that changes nothing. After a restore only such jobs run. */
  readonly isReadOnly?: true
  /** The commands that the job decides or sends. */
  readonly sends?: readonly CommandName[]
  readonly run: (context: ServiceContext<Ports>, signal: AbortSignal) => Promise<void>
}

/** A service as a value; `run` interprets it. */
export type Service<Ports = object> = {
  readonly name: string
  readonly aggregates: readonly Aggregate<Ports>[]
  readonly reactions: readonly Reaction[]
  readonly projections: readonly Projection[]
  readonly memoryViews: readonly MemoryView[]
  /** Runs before all jobs and consumers. Its error refuses the start; after a `Fault` it runs again. */
  readonly checkStart?: (context: Pick<ServiceContext<Ports>, 'ports' | 'load' | 'listOpenStreams'>) => Promise<void>
  readonly jobs: readonly ServiceJob<Ports>[]
}

/** The contracts whose messages a service follows to react to facts, and to learn that its commands were handled. */
export const listFollowedContracts = ({
  aggregates,
  reactions,
}: {
  readonly aggregates: readonly { readonly sentUntilHandled?: readonly CommandName[] }[]
  readonly reactions: readonly Pick<Reaction, 'contract'>[]
}): readonly Contract[] => [
  ...reactions.map(({ contract }) => contract),
  ...aggregates.flatMap(({ sentUntilHandled = [] }) => sentUntilHandled.map((name) => contractOf(name.split('.')[0] ?? ''))),
]

/** Defines a service, with empty lists for omitted parts. */
export const defineService = <Ports = object>(name: string, parts: Partial<Omit<Service<Ports>, 'name'>>): Service<Ports> => ({
  name,
  aggregates: [],
  reactions: [],
  projections: [],
  memoryViews: [],
  jobs: [],
  ...parts,
})
