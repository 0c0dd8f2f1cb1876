import type { Permission } from '@penstock/contracts/payments/service-key.ts'
import { forbidden, unauthenticated } from './errors.ts'

/**
 * The kind of a credential. 'session': the key of an anonymous buyer. 'order': a key for one order of an account. 'api': an
 * account's API key. 'token': the token of a user who logged in at the dashboard.
 */
export const credentialKinds = ['session', 'order', 'api', 'token'] as const
export type CredentialKind = (typeof credentialKinds)[number]

export type AuthenticatedCaller = {
  readonly kind: CredentialKind
  readonly accountId: string
  /** The order of an order key; null for every other kind. */
  readonly orderId: string | null
  /** The credential as the caller sent it, for answers that return it. It is never stored or logged. */
  readonly credential: string
}

/** A service of a team, which sent its service API key. */
export type ServiceCaller = {
  readonly keyId: string
  readonly teamId: string
  readonly environmentId: string
  /** The only wallet that the key works for; null for all wallets of the environment. */
  readonly walletId: string | null
  readonly permissions: readonly Permission[]
}

/** The callers that a request names. A header that is sent has a valid credential; a header that is missing has null here. */
export type RequestCallers = {
  /** The caller by `Authorization: Bearer`. It decides about every operation outside of payments. */
  readonly bearer: AuthenticatedCaller | null
  /** The caller by `x-api-key`. If there is one, it decides about payments. */
  readonly service: ServiceCaller | null
}

/** The callers of a use case. */
export type Access<Caller> = {
  /** The kinds of Bearer credentials that are admitted. */
  readonly kinds: readonly CredentialKind[]
  /** The permission that admits a service API key; undefined if no service API key is admitted. */
  readonly permission?: Permission
  /** Whether a caller without a credential is admitted. */
  readonly isPublic: boolean
  /** @throws the refusal of a caller that is not admitted */
  readonly check: (callers: RequestCallers) => Caller
}

export const anyone: Access<AuthenticatedCaller | null> = {
  kinds: credentialKinds,
  isPublic: true,
  check: ({ bearer }) => bearer,
}

export const credentialHolder: Access<AuthenticatedCaller> = {
  kinds: credentialKinds,
  isPublic: false,
  check: ({ bearer }) => {
    if (!bearer) throw unauthenticated()
    return bearer
  },
}

/** Narrows the kinds of credentials. @param refusal the message for the other kinds */
const admitOnly = <Caller extends AuthenticatedCaller | null>(
  { isPublic, check }: Access<Caller>,
  kinds: readonly CredentialKind[],
  refusal: string,
): Access<Caller> => ({
  kinds,
  isPublic,
  check: (callers) => {
    const checked = check(callers)
    if (checked && !kinds.includes(checked.kind)) throw forbidden(refusal)
    return checked
  },
})

/** A caller that buys, with or without an account. An order key only reads its order. */
export const buyer = admitOnly(
  anyone,
  ['session', 'api', 'token'],
  'This key reads one order only. Buy with the key of your account, or without one.',
)

/** The holder of any credential except an order key. */
export const identityHolder = admitOnly(
  credentialHolder,
  ['session', 'api', 'token'],
  'This key opens one order only. Use the key of your account.',
)

/** The holder of an account's API key or dashboard token, for example a seller. */
export const accountHolder = admitOnly(
  credentialHolder,
  ['api', 'token'],
  'This needs an account: use its API key or dashboard token.',
)

/** The holder of a dashboard token. A stolen API key cannot create another key. */
export const dashboardUser = admitOnly(
  credentialHolder,
  ['token'],
  'This needs the dashboard token of account.create or account.login.',
)
