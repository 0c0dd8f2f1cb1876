import { forbidden, unauthenticated } from './errors.ts'

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
