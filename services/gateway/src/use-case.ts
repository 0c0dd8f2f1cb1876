import type { Access, CredentialKind } from './access.ts'
import type { Mutation, Query } from './generated/schema-types.ts'
import type { Gateway } from './ports.ts'
import type { RateLimit } from './rate-limit.ts'

/** The type of the field at a path of the schema. */
type FieldAt<Type, Path extends string> = Path extends `${infer Name}.${infer Rest}`
  ? Name extends keyof Type
    ? FieldAt<NonNullable<Type[Name]>, Rest>
    : never
  : Path extends keyof Type
    ? Type[Path]
    : never

/** A value of which a field may be a function, which is called only if the document requests the field. */
type Resolvable<Type> = Type extends readonly (infer Entry)[]
  ? readonly Resolvable<Entry>[]
  : Type extends object
    ? { readonly [Name in keyof Type]: Resolvable<Type[Name]> | ((args: never) => Promise<Resolvable<Type[Name]>>) }
    : Type

/** Entries of the response's `extensions`. A use case adds to them what its result has no field for. */
export type ResponseExtensions = Record<string, unknown>

type UseCaseContext<Caller> = {
  readonly gateway: Gateway
  readonly caller: Caller
  readonly ip: string
  readonly extensions: ResponseExtensions
}

type Definition<Path, Args, Caller, Input, Result> = {
  /** The field's place below Query or Mutation: `market.offer.create`. */
  readonly path: Path
  readonly limit?: RateLimit
  /**
   * Credentials with which sellers ask this query to serve their sales. With them it does not yield to other requests. With
   * others it yields, as all other queries do.
   */
  readonly sellersWorkOf?: readonly CredentialKind[]
  /** The admitted callers. A caller is checked before its input is parsed. */
  readonly access: Access<Caller>
  /** Parses the arguments. @throws an error that says what to send instead */
  readonly input: (args: Args, gateway: Gateway) => Input
  readonly run: (input: Input, context: UseCaseContext<Caller>) => Promise<Result>
}

/** A use case whose types only its own file knows. A resolver passes `run` the results of `access` and `input`. */
export type UseCase = Omit<Definition<string, never, never, never, unknown>, 'access' | 'input'> & {
  readonly root: 'Query' | 'Mutation'
  readonly access: Access<unknown>
  readonly input: (args: never, gateway: Gateway) => unknown
}

/** Defines a use case that changes state. It waits for the earlier mutations of the same request. */
export const mutation = <Path extends string, Args, Caller, Input>(
  definition: Definition<Path, Args, Caller, Input, Resolvable<FieldAt<Mutation, Path>>>,
): UseCase => ({
  root: 'Mutation',
  ...definition,
})

/** Defines a use case that only reads. */
export const query = <Path extends string, Args, Caller, Input>(
  definition: Definition<Path, Args, Caller, Input, Resolvable<FieldAt<Query, Path>>>,
): UseCase => ({
  root: 'Query',
  ...definition,
})

/** The `input` of a use case without arguments. */
export const noInput = (): null => null
