import { type Permission, permissionResources } from '@penstock/contracts/payments/service-key.ts'
import { invalidInput } from '../../errors.ts'

/**
 * Merges the permissions of each resource to the highest level, in the order of the resources.
 * @throws an error if a key may not have these permissions
 */
export function parsePermissions(given: readonly Permission[], walletId: string | null): readonly Permission[] {
  const permissions = permissionResources.flatMap((resource): readonly Permission[] => {
    const levels = given.filter((permission) => permission.resource === resource).map(({ level }) => level)
    return levels.length === 0 ? [] : [{ resource, level: levels.includes('WRITE') ? 'WRITE' : 'READ' }]
  })
  if (permissions.length === 0) throw invalidInput('permissions must have at least one entry')
  const credentials = permissions.find(({ resource }) => resource === 'WALLET_CREDENTIALS')
  if (!credentials) return permissions
  if (credentials.level === 'WRITE') throw invalidInput('WALLET_CREDENTIALS has no level WRITE; use READ')
  if (!permissions.some(({ resource }) => resource === 'WALLETS')) throw invalidInput('WALLET_CREDENTIALS needs WALLETS:READ too')
  if (walletId === null) throw invalidInput('WALLET_CREDENTIALS needs wallet_id')
  return permissions
}
