import { isoTime } from '@penstock/kernel/time.ts'
import { hashCredential } from '@penstock/credentials/credentials.ts'
import { dashboardUser } from '../../access.ts'
import { listOpenTokens } from '../read/accounts.ts'
import { dashboardLimit } from '../limits.ts'
import { noInput, query } from '../../use-case.ts'

/** Number of digits of a token's hash that identify its session. */
const ID_DIGITS = 16

/** Lists the account's valid tokens, newest first. */
export const getSessions = query({
  path: 'account.sessions',
  limit: dashboardLimit,
  access: dashboardUser,
  input: noInput,
  run: async (_, { gateway: { views, clock, pepper }, caller }) => {
    const ownHash = hashCredential(pepper, caller.credential)
    const rows = await listOpenTokens(views, caller.accountId, clock.now())
    return rows.map(({ hash, created_at, last_used_at, ip_prefix }) => ({
      id: hash.slice(0, ID_DIGITS),
      created_at: created_at === null ? null : isoTime(created_at),
      last_used_at: last_used_at === null ? null : isoTime(last_used_at),
      ip_prefix,
      current: hash === ownHash,
    }))
  },
})
