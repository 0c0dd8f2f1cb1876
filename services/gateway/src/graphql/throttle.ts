import type { OperationDefinitionNode } from 'graphql'
import type { Config } from '@penstock/runtime/config.ts'
import { withinLimit } from '../operations/throttle.ts'
import { recordRefusal } from '../web/refusals.ts'
import type { Context } from './context.ts'
import { countAt, type Fragments } from './leaves.ts'

/** `by`: whose uses are counted together. */
type Limit = { readonly name: string; readonly by: 'ip' | 'user'; readonly perMinute: (config: Config) => number }

const buying: Limit = { name: 'buy', by: 'ip', perMinute: ({ buyPerMinute }) => buyPerMinute }
const signUp: Limit = { name: 'sign-up', by: 'ip', perMinute: ({ loginPerMinute }) => loginPerMinute }
// Each log-in costs a hash of a password; failures at one account have a lower limit of their own.
const logIn: Limit = { name: 'log-in', by: 'ip', perMinute: ({ loginPerMinute }) => 10 * loginPerMinute }
const dashboard: Limit = { name: 'dashboard', by: 'user', perMinute: ({ dashboardPerMinute }) => dashboardPerMinute }

/** Paths of operations that are limited. Every one in a document counts, so that aliases gain nothing. */
const limited: Readonly<Record<string, Limit>> = {
  'liquidity.buy': buying,
  'market.order.create': buying,
  'account.create': signUp,
  'account.login': logIn,
  'account.login_challenge': logIn,
  'account.me': dashboard,
  'account.change_password': dashboard,
  'account.log_out_everywhere': dashboard,
  'account.delete': dashboard,
  'account.sessions': dashboard,
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
    const of = isUser ? `account ${caller.accountId}` : ip
    for (let use = 0; use < uses; use++)
      await withinLimit(gateway, { name: limit.name, ip: of, perMinute }).catch((error: unknown) => {
        if (limit === logIn) recordRefusal(gateway, { method: 'any', code: 'limited', ip })
        throw error
      })
  }
}
