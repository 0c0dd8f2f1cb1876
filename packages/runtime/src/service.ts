import type { Contract, DataOf } from '@penstock/contracts/define.ts'
import type { Decider } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import type { Process, Wanted } from '@penstock/kernel/process.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Transaction } from 'kysely'
import type { Basics } from './basics.ts'
import type { OutcomeMessage } from './messages.ts'

/** A fact as it reaches whoever listens: with its place in its stream and what caused it. */
export type Event<F extends Fact = Fact> = {
  readonly id: string
  readonly category: string
  /** The aggregate's id, without the category. */
  readonly aggregateId: string
  readonly revision: number
  readonly position: bigint
  readonly at: number
  readonly commandId: string
  /** The order that all this is about, where there is one: the id that logs carry. */
  readonly correlation: string
  /** Not the last fact of its append: more of the same decision follow. */
  readonly more?: true
  readonly fact: F
}

/** A command on its way to an aggregate. Without `id` it is derived from what caused it. */
export type Ask = {
  readonly category: string
  readonly id: string
  readonly command: Wanted<Command>
  /** Tells two asks of one reaction apart. */
  readonly step?: string
}

/** What became of a command. `revision` is that of the stream afterwards; 'none' where there is no stream. */
export type Outcome =
  | { readonly outcome: 'accepted'; readonly revision: number | 'none' }
  | { readonly outcome: 'refused'; readonly code: string; readonly message: string }

/** Steps out of the pure world: data that a decision needs and only the outside knows (heights, rates, candidates). It changes nothing. */
export type Enrich<Ports> = (
  data: never,
  about: { readonly id: string; readonly at: number; readonly ports: Ports & Basics },
) => Promise<object>

export type EffectContext<Ports> = {
  readonly id: string
  readonly ports: Ports & Basics
  readonly signal: AbortSignal
  /** Looks once more: another replica may have done it meanwhile, or this process may have stood still since it looked. */
  readonly stillAsked: () => Promise<boolean>
}

/**
 * Acts on the outside world and tells the stream what happened. It may run again after a crash, so it looks first
 * whether the thing was done. It throws `Fault` to be tried again later, with back-off; null: there is nothing to tell.
 */
export type Effect<S, C extends Command, Ports> = (state: S, context: EffectContext<Ports>) => Promise<Wanted<C> | null>

/** What is hashed after every append, so that a replay proves that today's code derives the same state. Old versions are kept. */
export type HashedState<S> = { readonly version: number; readonly of: Readonly<Record<number, (state: S) => unknown>> }

export type AggregateSpec<S, C extends Command, E extends Fact, Ports, Effects extends string> = {
  readonly contract: Contract
  readonly decider: Decider<S, C, E>
  readonly hashed: HashedState<S>
  /** By type of command: what is added to its data before it is decided. */
  readonly enrich?: Readonly<Record<string, Enrich<Ports>>>
  /**
   * By type of command: until when its data counts by the monotonic clock, enrichment included. After that nothing is appended by it, whatever
   * kept it waiting: it ends with a fault, and whoever sent it looks anew. `preparedAtMs`: before the enrichment began.
   */
  readonly goodUntil?: Readonly<Record<string, (data: never, preparedAtMs: number) => number>>
  // What these ask is enriched like any command before it is decided, so it is not the decider's own type.
  readonly process?: Process<S, Command, Effects>
  readonly effects?: Readonly<Record<Effects, Effect<S, Command, Ports>>>
  /** By effect: how long it rests where it brought nothing new for the first time; each further time twice as long, up to 5 s. */
  readonly restsMs?: Readonly<Partial<Record<Effects, number>>>
  /** Which order a stream is about, for logs and traces; the aggregate's id where nothing is said. */
  readonly correlation?: (id: string, state: S) => string
}

/** An aggregate whose types only its own file knows; the runtime handles states, facts and commands as they come. */
export type Aggregate<Ports> = AggregateSpec<unknown, Command, Fact, Ports, string>

/** Closes an aggregate's types over itself. */
export const aggregate = <S, C extends Command, E extends Fact, Ports, Effects extends string = never>(
  spec: AggregateSpec<S, C, E, Ports, Effects>,
): Aggregate<Ports> => spec as unknown as Aggregate<Ports> // sound by construction: a spec is only ever fed its own states, facts and commands

/** A foreign fact becomes commands; those for own aggregates are decided at once, others go over the bus. */
export type Reaction = {
  readonly contract: Contract
  readonly type: string
  readonly react: (event: Event) => readonly Ask[]
}

export const on = <C extends Contract, T extends keyof C['facts'] & string>(
  contract: C,
  type: T,
  react: (data: DataOf<C['facts'][T]>, event: Event) => readonly Ask[],
): Reaction => ({
  contract,
  type,
  react: (event) => react(event.fact.data as DataOf<C['facts'][T]>, event), // the contract's upcasters gave it this shape
})

/** A command for an aggregate, typed by its contract. */
export const ask = <C extends Contract, T extends keyof C['commands'] & string>(
  contract: C,
  id: string,
  type: T,
  data: DataOf<C['commands'][T]> & object,
  step?: string,
): Ask => ({ category: contract.category, id, command: { type, data }, ...(step !== undefined && { step }) })

/**
 * A read model in tables: rows and progress change in one transaction, so every event counts once.
 * A new version is built from the store beside the old one.
 */
export type Projection = {
  readonly name: string
  readonly version: number
  readonly from: readonly Contract[]
  /** Forward-only, run at start; the tables' names carry the version where shapes change. */
  readonly migrate: (views: Views) => Promise<void>
  /** Those that are made of facts alone, for who makes them anew. */
  readonly tables?: readonly string[]
  /** The transaction sees the projection's tables; type it with `trx.$extendTables<...>()`. */
  readonly apply: (trx: Transaction<object>, event: Event) => Promise<void>
  /** What became of a command where no fact tells it: a refusal, or nothing new. */
  readonly outcome?: (trx: Transaction<object>, outcome: OutcomeMessage) => Promise<void>
  /** After the commit: wakes whoever waits. */
  readonly committed?: (events: readonly Event[]) => void
  readonly outcomeCommitted?: (outcome: OutcomeMessage) => void
}

/** A read model in memory, made from the store at every start. */
export type MemoryView = {
  readonly name: string
  readonly from: readonly Contract[]
  readonly apply: (event: Event) => void
}

/** What a service's own loops may do. */
export type ServiceContext<Ports> = {
  readonly ports: Ports & Basics
  /** Decides at an own aggregate, here and now, without the bus. `commandId` makes a repetition harmless. */
  readonly decide: (ask: Ask, commandId: string) => Promise<Outcome>
  /** Sends to any aggregate over the bus. */
  readonly send: (ask: Ask, options: SendOptions) => Promise<void>
  /** The present state of an own stream, by an own aggregate's category. */
  readonly load: (category: string, id: string) => Promise<{ readonly state: unknown; readonly revision: number | 'none' }>
  /** Ids of the streams of an own category whose process still asks for something. */
  readonly unfinished: (category: string) => Promise<readonly string[]>
  /** Runs the stream's process now: effects that its state asks for start, whatever the bus does. */
  readonly advance: (category: string, id: string) => Promise<void>
  /**
   * Does work that one replica does best, whenever this one has its lease, until `signal`. What was paused may go on for a
   * moment after another has taken over, so two of them must be harmless. Not for what guards money.
   */
  readonly alone: (name: string, work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal) => Promise<void>
}

export type SendOptions = {
  readonly commandId: string
  readonly correlation: string
  readonly notAfter?: number
  readonly at?: number
}

/** A loop of a service: it runs until the signal, and is started again with back-off when it throws. */
export type Job<Ports> = {
  readonly name: string
  /** It changes nothing, and runs after a restore too, when nothing else does. */
  readonly looksOnly?: true
  readonly run: (context: ServiceContext<Ports>, signal: AbortSignal) => Promise<void>
}

/** A service as a value; `run` interprets it. */
export type Service<Ports = object> = {
  readonly name: string
  readonly aggregates: readonly Aggregate<Ports>[]
  readonly reactions: readonly Reaction[]
  readonly projections: readonly Projection[]
  readonly memory: readonly MemoryView[]
  readonly jobs: readonly Job<Ports>[]
}

/** @returns the service with nothing where nothing was said */
export const service = <Ports = object>(name: string, parts: Partial<Omit<Service<Ports>, 'name'>>): Service<Ports> => ({
  name,
  aggregates: [],
  reactions: [],
  projections: [],
  memory: [],
  jobs: [],
  ...parts,
})
