import { hashCredential, isCredential } from '@penstock/credentials/credentials.ts'
import type { Gateway } from './ports.ts'
import { forbidden, unauthenticated } from './errors.ts'
import { recordSessionUse } from './account/views/sessions.ts'
import { withTables } from './market/views/tables.ts'

/**
 * The kind of a credential. 'session': the key of an anonymous buyer. 'order': a key for one order of an account. 'token': the
 * token of a user who logged in at the dashboard. 'api': an account's API key.
 */
export type CallerKind = 'session' | 'order' | 'token' | 'api'

export type AuthenticatedCaller = {
  readonly kind: CallerKind
  readonly accountId: string
  /** The order of an order key; null for every other kind. */
  readonly orderId: string | null
  /** The credential as the caller sent it, for answers that return it. It is never stored or logged. */
  readonly credential: string
}

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
  const [, credential] = /^Bearer +(\S{1,200})$/i.exec(header) ?? []
  if (credential === undefined || !isCredential(credential)) throw unauthenticated()
  const row = await withTables(gateway.views)
    .selectFrom('gateway_credentials as c')
    .leftJoin('gateway_sessions as s', 's.hash', 'c.hash')
    .selectAll('c')
    .select('s.last_used_at')
    .where('c.hash', '=', hashCredential(gateway.pepper, credential))
    .executeTakeFirst()
  if (!row || row.revoked === 1 || (row.expires_at !== null && row.expires_at <= gateway.clock.now())) throw unauthenticated()
  if (row.kind === 'token')
    await recordSessionUse(gateway.views, { hash: row.hash, ip, now: gateway.clock.now() }, row.last_used_at)
  return { kind: row.kind as CallerKind, accountId: row.account_id, orderId: row.order_id, credential } // the projections write only these kinds
}

/** Allows every caller, also one without a credential. */
export const allowAnyone = (caller: AuthenticatedCaller | null): AuthenticatedCaller | null => caller

export function requireCaller(caller: AuthenticatedCaller | null): AuthenticatedCaller {
  if (!caller) throw unauthenticated()
  return caller
}

/** Requires any credential except an order key. */
export function requireIdentity(caller: AuthenticatedCaller | null): AuthenticatedCaller {
  if (requireCaller(caller).kind === 'order') throw forbidden('This key opens one order only. Use the key of your account.')
  return requireCaller(caller)
}

/** Requires an account's API key or dashboard token, for example to sell. */
export function requireAccountHolder(caller: AuthenticatedCaller | null): AuthenticatedCaller {
  const { kind } = requireCaller(caller)
  if (kind !== 'token' && kind !== 'api') throw forbidden('This needs an account: use its API key or dashboard token.')
  return requireCaller(caller)
}

/** Requires a dashboard token, so that a stolen API key cannot create another key. */
export function requireDashboardUser(caller: AuthenticatedCaller | null): AuthenticatedCaller {
  if (requireCaller(caller).kind !== 'token')
    throw forbidden('This needs the dashboard token of account.create or account.login.')
  return requireCaller(caller)
}
