import { hashCredential, isCredential } from '@penstock/credentials/credentials.ts'
import type { AuthenticatedCaller, CredentialKind } from '../access.ts'
import { unauthenticated } from '../errors.ts'
import type { Gateway } from '../ports.ts'
import { recordSessionUse } from './views/sessions.ts'
import { withAccountTables } from './views/tables.ts'

const BEARER = /^Bearer +(\S{1,200})$/i

/** @returns whether the Authorization header has the prefix of an account's API key, before any query */
export const hasApiKey = (header: string | undefined): boolean => BEARER.exec(header ?? '')?.[1]?.startsWith('pak_') === true

/**
 * Reads the credential's row at each request, so that a revoked key stops working at once.
 * @param header the Authorization header, undefined if the request has none
 * @param ip the caller's address, which the account's owner sees in its sessions
 * @throws unauthenticated if the header contains no valid credential
 */
export async function authenticate(
  gateway: Pick<Gateway, 'views' | 'pepper' | 'clock'>,
  header: string | undefined,
  ip: string,
): Promise<AuthenticatedCaller | null> {
  if (header === undefined) return null
  const [, credential] = BEARER.exec(header) ?? []
  if (credential === undefined || !isCredential(credential)) throw unauthenticated()
  const row = await withAccountTables(gateway.views)
    .selectFrom('gateway_credentials as c')
    .leftJoin('gateway_sessions as s', 's.hash', 'c.hash')
    .selectAll('c')
    .select('s.last_used_at')
    .where('c.hash', '=', hashCredential(gateway.pepper, credential))
    .executeTakeFirst()
  if (!row || row.revoked === 1 || (row.expires_at !== null && row.expires_at <= gateway.clock.now())) throw unauthenticated()
  if (row.kind === 'token')
    await recordSessionUse(gateway.views, { hash: row.hash, ip, now: gateway.clock.now() }, row.last_used_at)
  return { kind: row.kind as CredentialKind, accountId: row.account_id, orderId: row.order_id, credential } // the projections write only these kinds
}
