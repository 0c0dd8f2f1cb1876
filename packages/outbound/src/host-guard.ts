import { findSpecialPurposeBlock } from './address.ts'
import { parseHost } from './host.ts'
import { LOCAL_DOMAINS } from './special-purpose.ts'

/** @returns all addresses of a name in the usual notation, empty if it has none; undefined if no name server answers */
export type NameResolver = (name: string) => Promise<readonly string[] | undefined>

export type CheckedHost =
  /** `host` is the host to connect to: an address, with IPv6 in brackets, or an .onion name. It is never a DNS name. */
  | { readonly allowed: true; readonly host: string }
  /** `reason` is a part of a sentence that begins with the host and has no full stop. */
  | { readonly allowed: false; readonly reason: string }

export type HostGuard = (host: string) => Promise<CheckedHost>

export type HostGuardPorts = {
  readonly resolve: NameResolver
  /** Whether the connecting node can reach .onion names; null if the node does not report it. */
  readonly hasTor: () => Promise<boolean | null>
}

/**
 * Decides whether a connection may be made to a host that a stranger supplies. A name is resolved once, all of its addresses
 * are checked, and one of them is returned.
 * The caller connects to the returned address instead of the name. A name that changes after the check then cannot redirect
 * the connection.
 */
export const createPublicHostGuard =
  ({ resolve, hasTor }: HostGuardPorts): HostGuard =>
  async (input) => {
    const host = parseHost(input)
    if (!host) return refuseHost(`${truncate(input)} is no address and no public name`)
    const { kind, text } = host
    if (kind === 'onion')
      return (await hasTor()) === false
        ? refuseHost(`${text} needs Tor, which our node does not use`)
        : { allowed: true, host: text }
    if (kind === 'address') {
      const block = findSpecialPurposeBlock(text)
      return block
        ? refuseHost(`${text} is an address for special purposes (${block.name}, ${block.source})`)
        : allowAddress(text)
    }
    if (LOCAL_DOMAINS.some((domain) => text === domain || text.endsWith(`.${domain}`)))
      return refuseHost(`${text} is a name of local networks`)
    const addresses = await resolve(text)
    if (!addresses) return refuseHost(`${text} cannot be resolved just now; try again`)
    // The reason contains no address, because an internal name server may know names that strangers must not learn about.
    const isPublic = addresses.length > 0 && addresses.every((address) => findSpecialPurposeBlock(address) === undefined)
    if (!isPublic) return refuseHost(`${text} does not stand for public addresses alone`)
    return allowAddress(addresses.find((address) => !address.includes(':')) ?? addresses[0] ?? '')
  }

/** @returns whether the host is an address that is not public; false for every name */
export function isSpecialPurpose(input: string): boolean {
  const host = parseHost(input)
  return host?.kind === 'address' && findSpecialPurposeBlock(host.text) !== undefined
}

const refuseHost = (reason: string): CheckedHost => ({ allowed: false, reason })
const allowAddress = (address: string): CheckedHost => ({
  allowed: true,
  host: address.includes(':') ? `[${address}]` : address,
})
const truncate = (text: string): string => (text.length > 100 ? `${text.slice(0, 100)}…` : text)
