import { MINUTE_MS } from '@penstock/kernel/time.ts'
import type { Views } from '@penstock/ports/views.ts'
import { withServiceKeyTables } from './tables.ts'

/** Minimum time between two stored uses of a key. */
const WRITE_EVERY_MS = MINUTE_MS

/** @param lastUsedAt the stored time of the last use; null for a key without a stored use */
export async function recordKeyUse(
  views: Pick<Views, 'db'>,
  { keyId, now }: { readonly keyId: string; readonly now: number },
  lastUsedAt: number | null,
): Promise<void> {
  if (lastUsedAt !== null && now - lastUsedAt < WRITE_EVERY_MS) return
  await withServiceKeyTables(views)
    .insertInto('gateway_service_key_uses')
    .values({ key_id: keyId, last_used_at: now })
    .onConflict((conflict) => conflict.column('key_id').doUpdateSet({ last_used_at: now }))
    .execute()
}
