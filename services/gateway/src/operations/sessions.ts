import { isoTime } from '@penstock/kernel/time.ts'
import { hashCredential } from '@penstock/runtime/credentials.ts'
import { type Caller, dashboardUser } from '../callers.ts'
import type { Gateway } from '../ports.ts'
import { openTokensOf } from '../read/accounts.ts'

/** Enough of a token's hash to tell sessions apart. */
const ID_DIGITS = 16

/** The account's tokens that are open now, the newest first. */
export async function listSessions({ views, clock, pepper }: Gateway, caller: Caller | null) {
  const { accountId, credential } = dashboardUser(caller)
  const own = hashCredential(pepper, credential)
  const rows = await openTokensOf(views, accountId, clock.now())
  return rows.map(({ hash, created_at, last_used_at, ip_prefix }) => ({
    id: hash.slice(0, ID_DIGITS),
    created_at: created_at === null ? null : isoTime(created_at),
    last_used_at: last_used_at === null ? null : isoTime(last_used_at),
    ip_prefix,
    current: hash === own,
  }))
}
