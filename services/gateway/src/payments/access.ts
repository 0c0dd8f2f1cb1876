import type { Permission, PermissionLevel, PermissionResource } from '@penstock/contracts/payments/service-key.ts'
import type { Access, RequestCallers, ServiceCaller } from '../access.ts'
import { forbidden, unauthenticated } from '../errors.ts'

/** The caller of an operation of payments: a dashboard user, or a service with its key. */
export type PaymentsCaller = {
  readonly teamId: string
  /** Null for a dashboard user, who may call everything in the team's environments. */
  readonly key: {
    readonly id: string
    readonly environmentId: string
    readonly walletId: string | null
    readonly permissions: readonly Permission[]
  } | null
}

/** Admits dashboard users, and keys with this permission. WRITE implies READ. @throws UNAUTHENTICATED or FORBIDDEN */
export const permitted = (resource: PermissionResource, level: PermissionLevel): Access<PaymentsCaller> => ({
  kinds: ['token'],
  isPublic: false,
  permission: { resource, level },
  check: (callers) => {
    if (!callers.service) return toDashboardCaller(callers)
    if (!hasPermission(callers.service, { resource, level }))
      throw forbidden(`This key lacks the permission ${resource}:${level}.`)
    return toKeyCaller(callers.service)
  },
})

/** Admits dashboard users only. */
export const dashboardOnly: Access<PaymentsCaller> = {
  kinds: ['token'],
  isPublic: false,
  check: (callers) => {
    if (callers.service) throw forbidden('This needs a dashboard token; a service API key cannot do it.')
    return toDashboardCaller(callers)
  },
}

const hasPermission = ({ permissions }: ServiceCaller, { resource, level }: Permission): boolean =>
  permissions.some((held) => held.resource === resource && (held.level === level || held.level === 'WRITE'))

const toKeyCaller = ({ keyId, teamId, environmentId, walletId, permissions }: ServiceCaller): PaymentsCaller => ({
  teamId,
  key: { id: keyId, environmentId, walletId, permissions },
})

/** A team has one account, so the team's id is the account's id. */
function toDashboardCaller({ bearer }: RequestCallers): PaymentsCaller {
  if (!bearer) throw unauthenticated()
  if (bearer.kind !== 'token') throw forbidden('This needs a service API key (x-api-key) or a dashboard token.')
  return { teamId: bearer.accountId, key: null }
}

type Environment = { readonly id: string; readonly team_id: string; readonly key_id: string | null }
type Wallet = { readonly id: string; readonly environment_id: string; readonly team_id: string }

/** Whether the caller sees an environment: its own team's, and with a key only the key's and those that the key created. */
export const seesEnvironment = (caller: PaymentsCaller, environment: Environment): boolean =>
  seesContent(caller, environment) ||
  (environment.team_id === caller.teamId && caller.key !== null && caller.key.id === environment.key_id)

/** Whether the caller sees the content of an environment: its own team's, and with a key only that of the key's environment. */
export const seesContent = ({ teamId, key }: PaymentsCaller, environment: Pick<Environment, 'id' | 'team_id'>): boolean =>
  environment.team_id === teamId && (key === null || key.environmentId === environment.id)

/** Whether the caller sees a wallet: as above, and with a wallet-scoped key only that wallet. */
export const seesWallet = (caller: PaymentsCaller, wallet: Wallet): boolean =>
  seesContent(caller, { id: wallet.environment_id, team_id: wallet.team_id }) &&
  (caller.key === null || caller.key.walletId === null || caller.key.walletId === wallet.id)

/** @throws FORBIDDEN if the key is bound to one wallet, and so may not call operations on environments */
export function requireUnscoped({ key }: PaymentsCaller): void {
  if (key !== null && key.walletId !== null) throw forbidden('This key works for one wallet only, and not for environments.')
}
