import type { OperationDefinitionNode } from 'graphql'
import { enforceRateLimit } from '../../rate-limit.ts'
import { useCases } from '../../areas.ts'
import { recordRefusal } from '../refusals.ts'
import type { GraphqlContext } from './context.ts'
import { countFieldsAt, type Fragments } from './field-count.ts'

/** Every limited field in a document counts, so that aliases cannot evade a limit. */
const limitsByPath = new Map(useCases.flatMap(({ path, limit }) => (limit ? [[path, limit] as const] : [])))
const limitedPaths: ReadonlySet<string> = new Set(limitsByPath.keys())

/** Counts all operations of a request before the first of them runs. @throws an error with status 429 */
export async function enforceRateLimits(
  { gateway, caller, ip }: GraphqlContext,
  operation: OperationDefinitionNode,
  fragments: Fragments,
): Promise<void> {
  for (const [path, uses] of countFieldsAt(operation, fragments, limitedPaths)) {
    const limit = limitsByPath.get(path)
    const perMinute = limit?.perMinute(gateway.config) ?? 0
    if (!limit || perMinute === 0) continue
    // The holder of an order key must not use up the limit of the account's owner.
    const isUser = limit.by === 'user' && caller && caller.kind !== 'order'
    const subject = isUser ? `account ${caller.accountId}` : ip
    for (let use = 0; use < uses; use++)
      await enforceRateLimit(gateway, { name: limit.name, ip: subject, perMinute }).catch((error: unknown) => {
        if (limit.isAuthentication) recordRefusal(gateway, { method: 'any', code: 'limited', ip })
        throw error
      })
  }
}
