import type { Permission } from '@penstock/contracts/payments/service-key.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { AccountTables } from '../../account/views/tables.ts'
import { invalidInput } from '../../errors.ts'
import type { PaymentsTables } from '../views/tables.ts'
import { type ServiceKeyTables, withServiceKeyTables } from './tables.ts'

type Db = Pick<Views, 'db'>
export type ServiceKeyRow = ServiceKeyTables['gateway_service_keys'] & {
  readonly last_used_at: number | null
  /** 1 after the deletion of the key's wallet, 0 before; null for a key without a wallet. */
  readonly wallet_deleted: number | null
}

const selectKeys = (views: Db) =>
  withServiceKeyTables(views)
    .$extendTables<PaymentsTables & AccountTables>()
    .selectFrom('gateway_service_keys as k')
    .leftJoin('gateway_service_key_uses as u', 'u.key_id', 'k.id')
    .leftJoin('gateway_wallets as w', 'w.id', 'k.wallet_id')
    .selectAll('k')
    .select(['u.last_used_at', 'w.deleted as wallet_deleted'])

/**
 * Finds a key that is neither expired nor revoked. A key ends with its wallet, its environment and its account. Their rows say
 * so, since the answer to a deletion waits for these rows.
 */
export async function findOpenKey(views: Db, hash: string, now: number): Promise<ServiceKeyRow | undefined> {
  const key = await selectKeys(views)
    .innerJoin('gateway_environments as e', 'e.id', 'k.environment_id')
    .innerJoin('gateway_accounts as a', 'a.id', 'k.team_id')
    .where('k.hash', '=', hash)
    .where('k.revoked', '=', 0)
    .where('e.deleted', '=', 0)
    // A team's account has an e-mail address until the account is deleted.
    .where('a.email_hash', 'is not', null)
    .executeTakeFirst()
  return key && isOpen(key, now) ? key : undefined
}

/** Whether a key of an existing environment opens anything. */
export const isOpen = ({ revoked, expires_at, wallet_id, wallet_deleted }: ServiceKeyRow, now: number): boolean =>
  revoked === 0 && (expires_at === null || expires_at > now) && (wallet_id === null || wallet_deleted === 0)

/** Finds a key of a team, also after its end, unless its environment is deleted. */
const findTeamKey = (views: Db, teamId: string, id: string): Promise<ServiceKeyRow | undefined> =>
  selectKeys(views)
    .innerJoin('gateway_environments as e', 'e.id', 'k.environment_id')
    .where('k.id', '=', id)
    .where('k.team_id', '=', teamId)
    .where('e.deleted', '=', 0)
    .executeTakeFirst()

/** @throws the error for an unknown key, also if another team has the key */
export async function requireTeamKey(views: Db, teamId: string, id: string): Promise<ServiceKeyRow> {
  const key = await findTeamKey(views, teamId, id)
  if (!key) throw invalidInput('Service API key not found')
  return key
}

/** Lists all keys of an environment, newest first. */
export const listKeys = (views: Db, environmentId: string): Promise<readonly ServiceKeyRow[]> =>
  selectKeys(views)
    .where('k.environment_id', '=', environmentId)
    .orderBy('k.created_at', 'desc')
    .orderBy('k.id', 'desc')
    .execute()

export const readPermissions = ({ permissions }: ServiceKeyRow): readonly Permission[] => JSON.parse(permissions) as Permission[] // written by the projection
