import type { Command, Fact } from '@penstock/kernel/message.ts'
import type { z } from 'zod'

/** A message's shape today, and how each older version becomes the next one (`upcast[1]` makes version 2 of version 1). */
export type Versioned<Schema extends z.ZodType = z.ZodType> = {
  readonly v: number
  readonly schema: Schema
  readonly upcast: Readonly<Record<number, (old: never) => unknown>>
}

export type Versions = Readonly<Record<string, Versioned>>

/** What may be said to an aggregate and what it may record: all that other services know of it. */
export type Contract<
  Category extends string = string,
  Facts extends Versions = Versions,
  Commands extends Versions = Versions,
> = {
  /** Streams are named `<category>-<id>`. */
  readonly category: Category
  /** The service that owns the streams. */
  readonly owner: string
  readonly facts: Facts
  readonly commands: Commands
  /** Commands that other services send. All else the owner gives itself, and takes from nobody. */
  readonly fromOthers: readonly string[]
}

export type DataOf<V> = V extends Versioned<infer Schema> ? z.output<Schema> : never

type FactOfType<T extends string, V> = DataOf<V> extends infer Data extends object ? Fact<T, Data> : never
type CommandOfType<T extends string, V> = DataOf<V> extends infer Data extends object ? Command<T, Data> : never

/** The union of a contract's facts. */
export type FactsOf<C extends Contract> = { [T in keyof C['facts'] & string]: FactOfType<T, C['facts'][T]> }[keyof C['facts'] &
  string]
/** The union of a contract's commands. */
export type CommandsOf<C extends Contract> = {
  [T in keyof C['commands'] & string]: CommandOfType<T, C['commands'][T]>
}[keyof C['commands'] & string]

/** The first version of a shape. */
export const v1 = <Schema extends z.ZodType>(schema: Schema): Versioned<Schema> => ({ v: 1, schema, upcast: {} })

/** Its second version, and how what was written before becomes it. */
export const v2 = <Schema extends z.ZodType>(schema: Schema, ofFirst: (old: never) => unknown): Versioned<Schema> => ({
  v: 2,
  schema,
  upcast: { 1: ofFirst },
})

/** Its third version, and how each that was written before becomes the next one. */
export const v3 = <Schema extends z.ZodType>(
  schema: Schema,
  ofFirst: (old: never) => unknown,
  ofSecond: (old: never) => unknown,
): Versioned<Schema> => ({ v: 3, schema, upcast: { 1: ofFirst, 2: ofSecond } })

/** Its fourth version, likewise. */
export const v4 = <Schema extends z.ZodType>(
  schema: Schema,
  ofFirst: (old: never) => unknown,
  ofSecond: (old: never) => unknown,
  ofThird: (old: never) => unknown,
): Versioned<Schema> => ({ v: 4, schema, upcast: { 1: ofFirst, 2: ofSecond, 3: ofThird } })

export const contract = <const Category extends string, Facts extends Versions, Commands extends Versions>(
  category: Category,
  owner: string,
  shapes: { facts: Facts; commands: Commands; fromOthers: readonly (keyof NoInfer<Commands> & string)[] },
): Contract<Category, Facts, Commands> => ({ category, owner, ...shapes })
