import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { bake } from '@penstock/adapters/lnd/bake.ts'
import { connectLnd, type LndAddress } from '@penstock/adapters/lnd/connection.ts'
import { permissions, type Role, ROLES } from '@penstock/adapters/lnd/permissions.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { macaroonIn } from './lnd-access.ts'

/** The roles that there are macaroons for, each with the calls of lnd that it needs. */
export const lndRoles: Readonly<Record<string, readonly string[]>> = permissions

export const isRole = (text: string): text is Role => ROLES.some((role) => role === text)

/**
 * Makes a macaroon for each role, readable by its owner alone.
 * @param admin the node, with a macaroon that may make others: lnd's admin.macaroon
 * @returns the files @throws Fault where the node does not answer or may not be asked
 */
export async function bakeMacaroons(admin: LndAddress, roles: readonly Role[], folder: string): Promise<readonly string[]> {
  const connection = connectLnd(admin, systemClock)
  mkdirSync(folder, { recursive: true })
  const files: string[] = []
  for (const role of roles) {
    const file = macaroonIn(folder, role)
    const macaroon = await bake(connection, role)
    writeFileSync(file, '', { mode: 0o600 })
    // The mode above is for a file that was not there; one that is overwritten is closed before the secret is in it.
    chmodSync(file, 0o600)
    writeFileSync(file, macaroon)
    files.push(file)
  }
  return files
}
