import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import type { LndAddress } from '@penstock/adapters/lnd/connection.ts'
import { macaroonPermissions, MACAROON_ROLES } from '@penstock/adapters/lnd/permissions.ts'
import type { MacaroonRole } from '@penstock/ports/macaroon-role.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { macaroonPath } from './lnd-access.ts'

/** The roles of macaroons, each with the lnd calls that it needs. */
export const lndRoles: Readonly<Record<string, readonly string[]>> = macaroonPermissions

export const isLndRole = (text: string): text is MacaroonRole => MACAROON_ROLES.some((role) => role === text)

/**
 * Bakes a macaroon for each role into a file that only its owner can read.
 * @param admin the node's address, with a macaroon that may bake others, such as lnd's admin.macaroon
 * @returns the paths of the files @throws Fault if the node does not answer or refuses the call
 */
export async function bakeMacaroons(
  admin: LndAddress,
  roles: readonly MacaroonRole[],
  folder: string,
): Promise<readonly string[]> {
  // The client of lnd is loaded here, because it takes longer than all other modules of the command line together.
  const { connectLnd } = await import('@penstock/adapters/lnd/connection.ts')
  const { bakeMacaroon } = await import('@penstock/adapters/lnd/bake-macaroon.ts')
  const connection = connectLnd(admin, systemClock)
  mkdirSync(folder, { recursive: true })
  const files: string[] = []
  for (const role of roles) {
    const file = macaroonPath(folder, role)
    const macaroon = await bakeMacaroon(connection, role)
    writeFileSync(file, '', { mode: 0o600 })
    // `mode` applies to a new file only, so an existing file is restricted here, before the secret is written.
    chmodSync(file, 0o600)
    writeFileSync(file, macaroon)
    files.push(file)
  }
  return files
}
