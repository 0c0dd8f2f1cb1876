import { MINUTE_MS } from '@penstock/kernel/time.ts'
import type { Views } from '@penstock/ports/views.ts'
import { prefixOf } from '../web/address.ts'
import { tablesOf } from './tables.ts'

type Use = { readonly hash: string; readonly ip: string; readonly now: number }

/** A use within this time of the one before is not written. */
const WRITE_EVERY_MS = MINUTE_MS

/** Remembers when and from where a token was made; of the address its prefix only, which is in no fact. */
export async function beginSession(views: Pick<Views, 'db'>, { hash, ip, now }: Use): Promise<void> {
  await tablesOf(views)
    .insertInto('gateway_sessions')
    .values({ hash, created_at: now, last_used_at: now, ip_prefix: prefixOf(ip) })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** @param lastUsedAt what is stored; null for a token that was made before uses were kept */
export async function useSession(views: Pick<Views, 'db'>, { hash, ip, now }: Use, lastUsedAt: number | null): Promise<void> {
  if (lastUsedAt !== null && now - lastUsedAt < WRITE_EVERY_MS) return
  const use = { last_used_at: now, ip_prefix: prefixOf(ip) }
  await tablesOf(views)
    .insertInto('gateway_sessions')
    .values({ hash, created_at: null, ...use })
    .onConflict((conflict) => conflict.column('hash').doUpdateSet(use))
    .execute()
}

/** Removes the uses of tokens that open nothing any more. */
export async function pruneSessions(views: Pick<Views, 'db'>, now: number): Promise<void> {
  const db = tablesOf(views)
  const open = db.selectFrom('gateway_credentials').select('hash').where('revoked', '=', 0).where('expires_at', '>', now)
  await db
    .deleteFrom('gateway_sessions')
    .where('hash', 'not in', open)
    .where('last_used_at', '<', now - WRITE_EVERY_MS)
    .execute()
}
