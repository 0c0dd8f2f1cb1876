import { specialBlockOf } from './address.ts'
import { readHost } from './host.ts'
import { LOCAL_DOMAINS } from './special-purpose.ts'

/** All addresses of a name, in the usual notation; none where it has none, undefined where no name server answers. */
export type Resolve = (name: string) => Promise<readonly string[] | undefined>

export type CheckedHost =
  /** `host` is what may be connected to: an address, IPv6 in brackets, or an .onion name. It is never a DNS name. */
  | { readonly allowed: true; readonly host: string }
  /** `reason` is a part of a sentence that begins with the host and has no full stop. */
  | { readonly allowed: false; readonly reason: string }

export type HostGuard = (host: string) => Promise<CheckedHost>

export type HostGuardPorts = {
  readonly resolve: Resolve
  /** Whether what connects can reach .onion names; null where it does not tell. */
  readonly hasTor: () => Promise<boolean | null>
}

/**
 * Decides whether a connection may be made to a host that a stranger names. A name is resolved once, every address that it
 * has is checked, and one of them is given back: whoever connects to that and not to the name cannot be led elsewhere
 * by a name that changes between check and connection.
 */
export const hostGuard =
  ({ resolve, hasTor }: HostGuardPorts): HostGuard =>
  async (given) => {
    const host = readHost(given)
    if (!host) return refused(`${shown(given)} is no address and no public name`)
    const { kind, text } = host
    if (kind === 'onion')
      return (await hasTor()) === false
        ? refused(`${text} needs Tor, which our node does not use`)
        : { allowed: true, host: text }
    if (kind === 'address') {
      const block = specialBlockOf(text)
      return block ? refused(`${text} is an address for special purposes (${block.name}, ${block.source})`) : toAddress(text)
    }
    if (LOCAL_DOMAINS.some((domain) => text === domain || text.endsWith(`.${domain}`)))
      return refused(`${text} is a name of local networks`)
    const addresses = await resolve(text)
    if (!addresses) return refused(`${text} cannot be resolved just now; try again`)
    // Which addresses a name has is not told: an inner name server may know names that are nobody else's business.
    const isPublic = addresses.length > 0 && addresses.every((address) => specialBlockOf(address) === undefined)
    if (!isPublic) return refused(`${text} does not stand for public addresses alone`)
    return toAddress(addresses.find((address) => !address.includes(':')) ?? addresses[0] ?? '')
  }

/** Whether a host is an address that is not public; names are something else. */
export function isSpecialPurpose(given: string): boolean {
  const host = readHost(given)
  return host?.kind === 'address' && specialBlockOf(host.text) !== undefined
}

const refused = (reason: string): CheckedHost => ({ allowed: false, reason })
const toAddress = (address: string): CheckedHost => ({
  allowed: true,
  host: address.includes(':') ? `[${address}]` : address,
})
const shown = (text: string): string => (text.length > 100 ? `${text.slice(0, 100)}…` : text)
