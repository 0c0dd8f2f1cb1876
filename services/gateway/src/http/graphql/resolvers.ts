import { runWithLowPriority, runWithRegularPriority } from '@penstock/runtime/commands/low-priority.ts'
import { isMarketBusyError } from '../../errors.ts'
import type { Area } from '../../area.ts'
import type { UseCase } from '../../use-case.ts'
import type { GraphqlContext } from './context.ts'
import { takeBackUse } from './rate-limits.ts'

type NamespaceIds = NonNullable<Area['namespaceIds']>
type Resolver = (args: never, context: GraphqlContext) => Promise<unknown>

function createResolver({ root, access, input, run, limit, sellersWorkOf = [] }: UseCase): Resolver {
  const resolve: Resolver = async (args, context) => {
    const { gateway, ip, authentication, extensions } = context
    // The sender of an invalid credential is not anonymous, so public operations are refused too.
    if (authentication.refusal) throw authentication.refusal
    const caller = access.check(authentication.callers)
    // `run` has the types of the use case's own `access` and `input`.
    const result = run(input(args, gateway) as never, { gateway, caller: caller as never, ip, extensions })
    return await result.catch(async (error: unknown) => {
      if (limit && isMarketBusyError(error)) await takeBackUse(context, limit)
      throw error
    })
  }
  if (root === 'Mutation') return (args, context) => context.runSerially(() => resolve(args, context))
  return (args, context) => {
    const { bearer } = context.authentication.callers
    const runQuery = bearer && sellersWorkOf.includes(bearer.kind) ? runWithRegularPriority : runWithLowPriority
    return runQuery(() => resolve(args, context))
  }
}

/** Builds the fields below a path. A field is the resolver of a use case, or an object with further fields (a namespace). */
const buildFields = (cases: readonly UseCase[], ids: NamespaceIds, prefix = ''): readonly (readonly [string, object])[] =>
  Object.entries(Object.groupBy(cases, ({ path }) => path.slice(prefix.length).split('.', 1).join(''))).map(
    ([name, group = []]) => {
      const path = `${prefix}${name}`
      const useCase = group.find((one) => one.path === path)
      if (useCase) return [name, createResolver(useCase)]
      const chooseId = ids[path]
      const id = chooseId ? (_: unknown, { authentication }: GraphqlContext) => chooseId(authentication.callers) : path
      return [name, { id, ...Object.fromEntries(buildFields(group, ids, `${path}.`)) }]
    },
  )

/** A namespace resolves without waiting, so that its use cases start in the order of the document. */
export const buildRootResolvers = (cases: readonly UseCase[], root: UseCase['root'], ids: NamespaceIds) =>
  Object.fromEntries(
    buildFields(
      cases.filter((useCase) => useCase.root === root),
      ids,
    ).map(([name, namespace]) => [name, () => namespace]),
  )
