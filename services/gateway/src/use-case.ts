import type { AuthenticatedCaller } from './access.ts'
import type { GraphqlContext } from './http/graphql/context.ts'
import type { Gateway } from './ports.ts'
import type { RateLimit } from './rate-limit.ts'

export type WithInput<Input> = { readonly input: Input }

type UseCaseContext<Caller> = { readonly gateway: Gateway; readonly caller: Caller; readonly ip: string }

type Definition<Args, Caller, Input> = {
  /** The field's place below Query or Mutation: `market.offer.create`. */
  readonly path: string
  readonly limit?: RateLimit
  /** Checks the caller before its input is parsed. @throws the refusal */
  readonly access: (caller: AuthenticatedCaller | null) => Caller
  /** Parses the arguments. @throws an error that says what to send instead */
  readonly input: (args: Args, gateway: Gateway) => Input
  readonly run: (input: Input, context: UseCaseContext<Caller>) => Promise<unknown>
}

export type UseCase = {
  readonly root: 'Query' | 'Mutation'
  readonly path: string
  readonly limit: RateLimit | undefined
  readonly resolve: (args: never, context: GraphqlContext) => Promise<unknown>
}

/** Defines a use case that changes state. It waits for the earlier mutations of the same request. */
export const mutation = <Args, Caller, Input>(definition: Definition<Args, Caller, Input>): UseCase => ({
  root: 'Mutation',
  path: definition.path,
  limit: definition.limit,
  resolve: (args: Args, context) => context.runSerially(() => runUseCase(definition, args, context)),
})

/** Defines a use case that only reads. */
export const query = <Args, Caller, Input>(definition: Definition<Args, Caller, Input>): UseCase => ({
  root: 'Query',
  path: definition.path,
  limit: definition.limit,
  resolve: (args: Args, context) => runUseCase(definition, args, context),
})

async function runUseCase<Args, Caller, Input>(
  { access, input, run }: Definition<Args, Caller, Input>,
  args: Args,
  { gateway, ip, ...request }: GraphqlContext,
): Promise<unknown> {
  const caller = access(request.caller)
  return run(input(args, gateway), { gateway, caller, ip })
}

/** The `input` of a use case without arguments. */
export const noInput = (): null => null
