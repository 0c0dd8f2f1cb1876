import { grantAccess } from 'lightning'
import type { Connection } from './connection.ts'
import { permissions, type Role } from './permissions.ts'

/** A macaroon for one role: the connection needs lnd's admin macaroon. @returns its bytes */
export async function bake({ ask }: Connection, role: Role): Promise<Uint8Array> {
  const uris = permissions[role].map((uri) => `uri:${uri}`)
  const { macaroon } = await ask((lnd) => grantAccess({ lnd, permissions: uris }))
  return Buffer.from(macaroon, 'base64')
}

/** @returns what the macaroon allows beyond what the role needs: an admin macaroon has a lot of it */
export function beyondRole(allowed: readonly string[], role: Role): readonly string[] {
  const needed = new Set<string>(permissions[role].map((uri) => `uri:${uri}`))
  return allowed.filter((one) => !needed.has(one))
}

/** @returns what the role needs and the macaroon does not allow: one that an earlier release has baked may lack a call */
export const shortOfRole = (allowed: readonly string[], role: Role): readonly string[] =>
  permissions[role].map((uri) => `uri:${uri}`).filter((uri) => !allowed.includes(uri))
