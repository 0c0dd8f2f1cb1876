import { hashCredential, isCredential } from '@penstock/runtime/credentials.ts'
import type { Gateway } from './ports.ts'
import { forbidden, unauthenticated } from './errors.ts'
import { useSession } from './views/sessions.ts'
import { tablesOf } from './views/tables.ts'

/**
 * 'session': an anonymous buyer. 'order': reads one order of an account. 'token': somebody logged in at the dashboard.
 * 'api': a program with an account's key.
 */
export type CallerKind = 'session' | 'order' | 'token' | 'api'

export type Caller = {
  readonly kind: CallerKind
  readonly accountId: string
  /** The one order that an order key reads. */
  readonly orderId: string | null
  /** What was shown, for the answers that give it again; never stored or logged. */
  readonly credential: string
}

/**
 * Who is calling, looked up each time: a key that was revoked opens nothing from then on.
 * @param header the Authorization header, undefined where there is none
 * @param ip the caller's address, which the account's owner sees of its sessions
 * @throws unauthenticated for everything that is no valid credential
 */
export async function authenticate(
  gateway: Pick<Gateway, 'views' | 'pepper' | 'clock'>,
  header: string | undefined,
  ip: string,
): Promise<Caller | null> {
  if (header === undefined) return null
  const [, credential] = /^Bearer +(\S{1,200})$/i.exec(header) ?? []
  if (credential === undefined || !isCredential(credential)) throw unauthenticated()
  const row = await tablesOf(gateway.views)
    .selectFrom('gateway_credentials as c')
    .leftJoin('gateway_sessions as s', 's.hash', 'c.hash')
    .selectAll('c')
    .select('s.last_used_at')
    .where('c.hash', '=', hashCredential(gateway.pepper, credential))
    .executeTakeFirst()
  if (!row || row.revoked === 1 || (row.expires_at !== null && row.expires_at <= gateway.clock.now())) throw unauthenticated()
  if (row.kind === 'token') await useSession(gateway.views, { hash: row.hash, ip, now: gateway.clock.now() }, row.last_used_at)
  return { kind: row.kind as CallerKind, accountId: row.account_id, orderId: row.order_id, credential } // written by the projections with these kinds only
}

export function someone(caller: Caller | null): Caller {
  if (!caller) throw unauthenticated()
  return caller
}

/** Not for whoever holds the key of one order only. */
export function identity(caller: Caller | null): Caller {
  if (someone(caller).kind === 'order') throw forbidden('This key opens one order only. Use the key of your account.')
  return someone(caller)
}

/** Selling and all that lasts is for accounts. */
export function accountHolder(caller: Caller | null): Caller {
  const { kind } = someone(caller)
  if (kind !== 'token' && kind !== 'api') throw forbidden('This needs an account: use its API key or dashboard token.')
  return someone(caller)
}

/** What only a person does: a stolen API key must not make another one. */
export function dashboardUser(caller: Caller | null): Caller {
  if (someone(caller).kind !== 'token') throw forbidden('This needs the dashboard token of account.create or account.login.')
  return someone(caller)
}
