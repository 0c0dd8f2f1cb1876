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

/** The callers of a use case. */
export type Access<Caller> = {
  /** The kinds of credentials that are admitted. */
  readonly kinds: readonly CredentialKind[]
  /** Whether a caller without a credential is admitted. */
  readonly isPublic: boolean
  /** @throws the refusal of a caller that is not admitted */
  readonly check: (caller: AuthenticatedCaller | null) => Caller
}

export const anyone: Access<AuthenticatedCaller | null> = { kinds: credentialKinds, isPublic: true, check: (caller) => caller }

export const credentialHolder: Access<AuthenticatedCaller> = {
  kinds: credentialKinds,
  isPublic: false,
  check: (caller) => {
    if (!caller) throw unauthenticated()
    return caller
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
  check: (caller) => {
    const checked = check(caller)
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
