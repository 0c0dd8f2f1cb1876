import type { Context } from './context.ts'

type Resolver<Args, Result> = (parent: unknown, args: Args, context: Context) => Promise<Result>

/** An operation that changes something: it waits for those before it in the same request. */
export const changing =
  <Args, Result>(operate: (args: Args, context: Context) => Promise<Result>): Resolver<Args, Result> =>
  (_, args, context) =>
    context.inTurn(() => operate(args, context))

/** An operation that only reads. */
export const reading =
  <Args, Result>(operate: (args: Args, context: Context) => Promise<Result>): Resolver<Args, Result> =>
  (_, args, context) =>
    operate(args, context)

export type WithInput<Input> = { readonly input: Input }
