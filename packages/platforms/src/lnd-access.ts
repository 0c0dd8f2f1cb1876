import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LndAddress } from '@penstock/adapters/lnd/connection.ts'
import { readMacaroonPermissions } from '@penstock/adapters/lnd/macaroon.ts'
import { findExcessPermissions, findMissingPermissions } from '@penstock/adapters/lnd/permissions.ts'
import type { Config } from '@penstock/config/config.ts'
import { ConfigError } from '@penstock/config/config-error.ts'
import type { MacaroonRole } from '@penstock/ports/macaroon-role.ts'
import type { ServiceManifest } from '@penstock/runtime/manifest.ts'

/** The maximum number of permissions in an error message. */
const MAX_NAMED = 5

/** The path of a role's macaroon in the folder of all baked macaroons. */
export const macaroonPath = (folder: string, role: MacaroonRole): string => join(folder, `${role}.macaroon`)

/** A process that may connect to lnd, with its role there. */
export type LndClient = Pick<ServiceManifest, 'name' | 'macaroon'>

/**
 * Finds the address, certificate and macaroon of lnd for a process.
 * @throws ConfigError if a file is not configured or missing, or if the macaroon has excess or missing permissions
 */
export function resolveLndAccess({ name: client, macaroon: role = 'reader' }: LndClient, config: Config): LndAddress {
  const { network, lndSocket: socket, lndCertFile: certFile, lndMacaroonFile, lndMacaroonDir } = config
  const macaroonFile = lndMacaroonFile === '' && lndMacaroonDir !== '' ? macaroonPath(lndMacaroonDir, role) : lndMacaroonFile
  for (const [name, file] of [
    ['PENSTOCK_LND_CERT_FILE', certFile],
    ['PENSTOCK_LND_MACAROON_FILE', macaroonFile],
  ] as const)
    if (file === '') throw new ConfigError(`${name} is not set: PENSTOCK_LIGHTNING=lnd needs lnd's certificate and a macaroon.`)
  if (!existsSync(certFile)) throw new ConfigError(`lnd's certificate ${certFile} does not exist.`)
  if (!existsSync(macaroonFile))
    throw new ConfigError(
      `${client} needs the macaroon ${macaroonFile}, which does not exist: "penstock lnd bake ${role}" makes it.`,
    )
  if (network !== 'regtest') assertFitsRole(role, macaroonFile)
  return { socket, certFile, macaroonFile }
}

/**
 * @throws ConfigError if the macaroon has excess or missing permissions. An attacker could use an excess permission; without a
 * needed permission, lnd would refuse a call, perhaps when money depends on that call.
 */
function assertFitsRole(role: MacaroonRole, file: string): void {
  const allowed = readMacaroonPermissions(readFileSync(file))
  const [excess, lacking] = [findExcessPermissions(allowed, role), findMissingPermissions(allowed, role)]
  const advice = `Make one with "penstock lnd bake ${role}".`
  if (excess.length > 0)
    throw new ConfigError(`The macaroon ${file} has permissions that ${role} does not need: ${listSome(excess)}. ${advice}`)
  if (lacking.length > 0)
    throw new ConfigError(`The macaroon ${file} lacks permissions that ${role} needs: ${listSome(lacking)}. ${advice}`)
}

const listSome = (names: readonly string[]): string =>
  names.slice(0, MAX_NAMED).join(', ') + (names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '')
