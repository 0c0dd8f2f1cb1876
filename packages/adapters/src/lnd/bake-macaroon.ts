import { grantAccess } from 'lightning'
import type { LndConnection } from './connection.ts'
import type { MacaroonRole } from '@penstock/ports/macaroon-role.ts'
import { macaroonPermissions } from './permissions.ts'

/** Bakes a macaroon for one role; the connection needs lnd's admin macaroon. @returns its bytes */
export async function bakeMacaroon({ ask }: LndConnection, role: MacaroonRole): Promise<Uint8Array> {
  const uris = macaroonPermissions[role].map((uri) => `uri:${uri}`)
  const { macaroon } = await ask((lnd) => grantAccess({ lnd, permissions: uris }))
  return Buffer.from(macaroon, 'base64')
}
