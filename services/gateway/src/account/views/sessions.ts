import { MINUTE_MS } from '@penstock/kernel/time.ts'
import type { Views } from '@penstock/ports/views.ts'
import { toAddressPrefix } from '../../http/client-address.ts'
import { withAccountTables } from './tables.ts'

type SessionUse = { readonly hash: string; readonly ip: string; readonly now: number }

/** Minimum time between two stored uses of a token. */
const WRITE_EVERY_MS = MINUTE_MS

/** Records when, and from which network prefix, a token was created. No fact contains an address or a prefix. */
export async function recordSessionStart(views: Pick<Views, 'db'>, { hash, ip, now }: SessionUse): Promise<void> {
  await withAccountTables(views)
    .insertInto('gateway_sessions')
    .values({ hash, created_at: now, last_used_at: now, ip_prefix: toAddressPrefix(ip) })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** @param lastUsedAt the stored time of the last use; null for a token without a stored use */
export async function recordSessionUse(
  views: Pick<Views, 'db'>,
  { hash, ip, now }: SessionUse,
  lastUsedAt: number | null,
): Promise<void> {
  if (lastUsedAt !== null && now - lastUsedAt < WRITE_EVERY_MS) return
  const use = { last_used_at: now, ip_prefix: toAddressPrefix(ip) }
  await withAccountTables(views)
    .insertInto('gateway_sessions')
    .values({ hash, created_at: null, ...use })
    .onConflict((conflict) => conflict.column('hash').doUpdateSet(use))
    .execute()
}

/** Deletes the uses of expired and revoked tokens. */
export async function pruneSessions(views: Pick<Views, 'db'>, now: number): Promise<void> {
  const db = withAccountTables(views)
  const open = db.selectFrom('gateway_credentials').select('hash').where('revoked', '=', 0).where('expires_at', '>', now)
  await db
    .deleteFrom('gateway_sessions')
    .where('hash', 'not in', open)
    .where('last_used_at', '<', now - WRITE_EVERY_MS)
    .execute()
}
