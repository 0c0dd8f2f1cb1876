import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beyondRole, shortOfRole } from '@penstock/adapters/lnd/bake.ts'
import type { LndAddress } from '@penstock/adapters/lnd/connection.ts'
import { allowances } from '@penstock/adapters/lnd/macaroon.ts'
import { type Role, roleOf } from '@penstock/adapters/lnd/permissions.ts'
import { type Config, ConfigError } from '@penstock/runtime/config.ts'

/** How many of what a macaroon allows too much, or too little, are named. */
const NAMED = 5

/** The macaroon of a role, among those that were baked into one folder. */
export const macaroonIn = (folder: string, role: Role): string => join(folder, `${role}.macaroon`)

/**
 * Where lnd is, and what lets that process in.
 * @param process decides what its macaroon may allow
 * @throws ConfigError where a file is not named, or not there, or lets in too far or not far enough
 */
export function lndAccess(process: string, config: Config): LndAddress {
  const { network, lndSocket: socket, lndCertFile: certFile, lndMacaroonFile, lndMacaroonDir } = config
  const role = roleOf(process)
  const macaroonFile = lndMacaroonFile === '' && lndMacaroonDir !== '' ? macaroonIn(lndMacaroonDir, role) : lndMacaroonFile
  for (const [name, file] of [
    ['PENSTOCK_LND_CERT_FILE', certFile],
    ['PENSTOCK_LND_MACAROON_FILE', macaroonFile],
  ] as const)
    if (file === '') throw new ConfigError(`${name} is not set: PENSTOCK_LIGHTNING=lnd needs lnd's certificate and a macaroon.`)
  if (!existsSync(certFile)) throw new ConfigError(`lnd's certificate ${certFile} is not there.`)
  if (!existsSync(macaroonFile))
    throw new ConfigError(
      `${process} needs the macaroon ${macaroonFile}, which is not there: "penstock lnd bake ${role}" makes it.`,
    )
  if (network !== 'regtest') fitsRole(role, macaroonFile)
  return { socket, certFile, macaroonFile }
}

/**
 * @throws ConfigError where somebody who got hold of this process could do more than the process does, or where a call that it
 * makes would be refused, perhaps when money waits for it
 */
function fitsRole(role: Role, file: string): void {
  const allowed = allowances(readFileSync(file))
  const [beyond, short] = [beyondRole(allowed, role), shortOfRole(allowed, role)]
  const anew = `Make one with "penstock lnd bake ${role}".`
  if (beyond.length > 0) throw new ConfigError(`The macaroon ${file} allows what ${role} never does: ${someOf(beyond)}. ${anew}`)
  if (short.length > 0) throw new ConfigError(`The macaroon ${file} does not allow what ${role} does: ${someOf(short)}. ${anew}`)
}

const someOf = (names: readonly string[]): string =>
  names.slice(0, NAMED).join(', ') + (names.length > NAMED ? ` and ${names.length - NAMED} more` : '')
