import type { Access } from './access.ts'
import type { Gateway } from './ports.ts'
import type { RateLimit } from './rate-limit.ts'

export type WithInput<Input> = { readonly input: Input }

type UseCaseContext<Caller> = { readonly gateway: Gateway; readonly caller: Caller; readonly ip: string }

type Definition<Args, Caller, Input> = {
  /** The field's place below Query or Mutation: `market.offer.create`. */
  readonly path: string
  readonly limit?: RateLimit
  /** The admitted callers. A caller is checked before its input is parsed. */
  readonly access: Access<Caller>
  /** Parses the arguments. @throws an error that says what to send instead */
  readonly input: (args: Args, gateway: Gateway) => Input
  readonly run: (input: Input, context: UseCaseContext<Caller>) => Promise<unknown>
}

/** A use case whose types only its own file knows. A resolver passes `run` the results of `access` and `input`. */
export type UseCase = Omit<Definition<never, never, never>, 'access' | 'input'> & {
  readonly root: 'Query' | 'Mutation'
  readonly access: Access<unknown>
  readonly input: (args: never, gateway: Gateway) => unknown
}

/** Defines a use case that changes state. It waits for the earlier mutations of the same request. */
export const mutation = <Args, Caller, Input>(definition: Definition<Args, Caller, Input>): UseCase => ({
  root: 'Mutation',
  ...definition,
})

/** Defines a use case that only reads. */
export const query = <Args, Caller, Input>(definition: Definition<Args, Caller, Input>): UseCase => ({
  root: 'Query',
  ...definition,
})

/** The `input` of a use case without arguments. */
export const noInput = (): null => null
