import { MINUTE_MS } from '@penstock/kernel/time.ts'
import type { OperationDefinitionNode } from 'graphql'
import type { Config } from '@penstock/runtime/config.ts'
import { tooMany } from '../web/rate-limit.ts'
import type { Context } from './context.ts'
import { countAt, type Fragments } from './leaves.ts'

/** `by`: whose uses are counted together. */
type Limit = { readonly name: string; readonly by: 'ip' | 'user'; readonly perMinute: (config: Config) => number }

const buying: Limit = { name: 'buy', by: 'ip', perMinute: ({ buyPerMinute }) => buyPerMinute }
const entering: Limit = { name: 'log-in', by: 'ip', perMinute: ({ loginPerMinute }) => loginPerMinute }
const dashboard: Limit = { name: 'dashboard', by: 'user', perMinute: ({ dashboardPerMinute }) => dashboardPerMinute }

/** Paths of operations that are limited. Every one in a document counts, so that aliases gain nothing. */
const limited: Readonly<Record<string, Limit>> = {
  'liquidity.buy': buying,
  'market.order.create': buying,
  'account.create': entering,
  'account.login': entering,
  'account.login_challenge': entering,
  'account.me': dashboard,
  'account.api_keys': dashboard,
  'account.create_api_key': dashboard,
  'account.revoke_api_key': dashboard,
  'account.node.challenge': dashboard,
  'account.node.connect': dashboard,
}
const paths = new Set(Object.keys(limited))

/** Counts all operations of a request before the first of them runs. @throws an error that answers 429 */
export async function throttle(
  { gateway, caller, ip }: Context,
  operation: OperationDefinitionNode,
  fragments: Fragments,
): Promise<void> {
  for (const [path, uses] of countAt(operation, fragments, paths)) {
    const limit = limited[path]
    const perMinute = limit?.perMinute(gateway.config) ?? 0
    if (!limit || perMinute === 0) continue
    // Whoever was given the key of one order must not use up what the account's owner may do.
    const isUser = limit.by === 'user' && caller && caller.kind !== 'order'
    const key = `${limit.name} ${isUser ? `account ${caller.accountId}` : ip}`
    for (let use = 0; use < uses; use++) {
      const outcome = await gateway.limits.hit(key, perMinute, MINUTE_MS, gateway.clock.now())
      if (!outcome.allowed) throw tooMany({ name: limit.name, limit: perMinute, retryAfterMs: outcome.retryAfterMs })
    }
  }
}
