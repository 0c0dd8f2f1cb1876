import type { OperationDefinitionNode } from 'graphql'
import { enforceRateLimit, type RateLimit, takeBackRefused } from '../../rate-limit.ts'
import { useCases } from '../../areas.ts'
import { recordRefusal } from '../refusals.ts'
import type { GraphqlContext } from './context.ts'
import { countFieldsAt, type Fragments } from './field-count.ts'

/** Every limited field in a document counts, so that aliases cannot evade a limit. */
const limitsByPath = new Map(useCases.flatMap(({ path, limit }) => (limit ? [[path, limit] as const] : [])))
const limitedPaths: ReadonlySet<string> = new Set(limitsByPath.keys())

type LimitedUses = {
  readonly name: string
  readonly perMinute: number
  /** The account, key or address for which the uses count. */
  readonly subject: string
  readonly isAuthentication: boolean
  uses: number
}

/** Counts all operations of a request before the first of them runs. @throws an error with status 429 */
export async function enforceRateLimits(
  context: GraphqlContext,
  operation: OperationDefinitionNode,
  fragments: Fragments,
): Promise<void> {
  const { gateway, ip, countedUses } = context
  const usesByName = new Map<string, LimitedUses>()
  for (const [path, uses] of countFieldsAt(operation, fragments, limitedPaths)) {
    const limit = limitsByPath.get(path)
    if (!limit || limit.isSuspended?.(gateway)) continue
    const limited = describeUses(context, limit)
    const earlier = usesByName.get(limited.name)
    // Different operations of one request count once together if the limit counts requests.
    if (earlier) earlier.uses += limit.by === 'user' ? uses - 1 : uses
    else usesByName.set(limited.name, { ...limited, uses })
  }
  for (const { name, subject, perMinute, isAuthentication, uses } of usesByName.values())
    for (let use = 0; use < uses && perMinute > 0; use++) {
      const takeBack = await enforceRateLimit(gateway, { name, ip: subject, perMinute }).catch((error: unknown) => {
        if (isAuthentication) recordRefusal(gateway, { method: 'any', code: 'limited', ip })
        throw error
      })
      countedUses.set(name, [...(countedUses.get(name) ?? []), takeBack])
    }
}

/** Takes back one counted use, which a busy market refused. */
export async function takeBackUse({ gateway, countedUses }: GraphqlContext, { name }: RateLimit): Promise<void> {
  const takeBack = countedUses.get(name)?.pop()
  if (takeBack) await takeBackRefused(gateway, takeBack)
}

function describeUses({ gateway: { config }, authentication, ip }: GraphqlContext, limit: RateLimit): Omit<LimitedUses, 'uses'> {
  const { bearer, service } = authentication.callers
  if (service && limit.ofServiceKey) {
    const { name, perMinute } = limit.ofServiceKey
    return { name, perMinute: perMinute(config), subject: `key ${service.keyId}`, isAuthentication: false }
  }
  // The holder of an order key must not use up the limit of the account's owner.
  const isUser = limit.by === 'user' && bearer && bearer.kind !== 'order'
  const subject = isUser ? `account ${bearer.accountId}` : ip
  return { name: limit.name, perMinute: limit.perMinute(config), subject, isAuthentication: limit.isAuthentication ?? false }
}
