import type { Command, Fact } from '@penstock/kernel/message.ts'
import type { z } from 'zod'

/** The current shape of a message, and upcasters from each older version to the next version (`upcast[1]`: from 1 to 2). */
export type Versioned<Schema extends z.ZodType = z.ZodType> = {
  readonly v: number
  readonly schema: Schema
  readonly upcast: Readonly<Record<number, (old: never) => unknown>>
}

export type Versions = Readonly<Record<string, Versioned>>

/** A command, with the other services that may send it. Without `from`, only the owner of the contract sends it. */
export type CommandShape = Versioned & { readonly from?: readonly string[] }

export type CommandShapes = Readonly<Record<string, CommandShape>>

/** A subject that several streams are about. Logs, traces and audits name it. */
export type Subject = 'order'

/** The relation of streams to subjects whose ids differ from the stream's id. Each message names its subject. */
export type Relation = {
  readonly subject: Subject
  /** The first subject that claims a stream keeps it. Other streams serve many subjects. */
  readonly isClaim: boolean
  /** The field of the subject's facts that contains the id of a stream. */
  readonly field?: string
}

/** The commands that an aggregate accepts and the facts that it records. Other services depend only on contracts. */
export type Contract<
  Category extends string = string,
  Facts extends Versions = Versions,
  Commands extends CommandShapes = CommandShapes,
> = {
  /** Streams are named `<category>-<id>`. */
  readonly category: Category
  /** The service that owns the streams. */
  readonly owner: string
  readonly facts: Facts
  readonly commands: Commands
  /** The facts that each command may record. */
  readonly records: Readonly<Record<keyof Commands & string, readonly string[]>>
  /** The subject of each stream, if the stream's id is the id of the subject. */
  readonly correlates?: Subject
  readonly relatedTo?: Relation
  /**
   * Facts and commands of unpaid orders, which a paid order ignores or refuses. Messages of paid orders take precedence. A paid
   * message of the same stream may overtake them, so the receiver of a command has to accept both orders.
   */
  readonly unpaid?: readonly string[]
  /** Whether every replica of some service keeps the facts in memory, and so has to hear of each append at once. */
  readonly isFollowedInMemory?: true
}

export type MessageData<V> = V extends Versioned<infer Schema> ? z.output<Schema> : never

type FactOfType<T extends string, V> = MessageData<V> extends infer Data extends object ? Fact<T, Data> : never
type CommandOfType<T extends string, V> = MessageData<V> extends infer Data extends object ? Command<T, Data> : never

/** The union of a contract's facts. */
export type FactsOf<C extends Contract> = { [T in keyof C['facts'] & string]: FactOfType<T, C['facts'][T]> }[keyof C['facts'] &
  string]
/** The union of a contract's commands. */
export type CommandsOf<C extends Contract> = {
  [T in keyof C['commands'] & string]: CommandOfType<T, C['commands'][T]>
}[keyof C['commands'] & string]

/** A contract's category with the union of its commands: the type by which a command is addressed. */
export type TargetOf<C extends Contract> = { readonly category: C['category']; readonly command: CommandsOf<C> }

/** The first version of a shape. */
export const v1 = <Schema extends z.ZodType>(schema: Schema): Versioned<Schema> => ({ v: 1, schema, upcast: {} })

/** The second version of a shape, with the upcast from the first. */
export const v2 = <Schema extends z.ZodType>(schema: Schema, upcastFirst: (old: never) => unknown): Versioned<Schema> => ({
  v: 2,
  schema,
  upcast: { 1: upcastFirst },
})

/** The third version of a shape, with an upcast from each earlier version to the next. */
export const v3 = <Schema extends z.ZodType>(
  schema: Schema,
  upcastFirst: (old: never) => unknown,
  upcastSecond: (old: never) => unknown,
): Versioned<Schema> => ({ v: 3, schema, upcast: { 1: upcastFirst, 2: upcastSecond } })

/** The fourth version of a shape, with an upcast from each earlier version to the next. */
export const v4 = <Schema extends z.ZodType>(
  schema: Schema,
  upcastFirst: (old: never) => unknown,
  upcastSecond: (old: never) => unknown,
  upcastThird: (old: never) => unknown,
): Versioned<Schema> => ({ v: 4, schema, upcast: { 1: upcastFirst, 2: upcastSecond, 3: upcastThird } })

export const defineContract = <const Category extends string, Facts extends Versions, Commands extends CommandShapes>(
  category: Category,
  owner: string,
  shapes: {
    facts: Facts
    commands: Commands
    records: Readonly<Record<keyof NoInfer<Commands> & string, readonly (keyof NoInfer<Facts> & string)[]>>
    correlates?: Subject
    relatedTo?: Relation
    isFollowedInMemory?: true
    unpaid?: readonly ((keyof NoInfer<Commands> | keyof NoInfer<Facts>) & string)[]
  },
): Contract<Category, Facts, Commands> => ({ category, owner, ...shapes })

/** @returns the other services that may send commands of the contract */
export const sendersOf = ({ commands }: Pick<Contract, 'commands'>): readonly string[] => [
  ...new Set(Object.values(commands).flatMap(({ from = [] }) => from)),
]

/** @returns the commands of the contract that `sender`, another service, may send */
export const commandsFrom = ({ commands }: Pick<Contract, 'commands'>, sender: string): readonly string[] =>
  Object.entries(commands).flatMap(([type, { from = [] }]) => (from.includes(sender) ? [type] : []))
