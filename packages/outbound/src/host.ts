import { isIPv4, isIPv6 } from 'node:net'

/** An address is in its usual notation, without brackets; a name is in lower case and ASCII, without a dot at its end. */
export type Host = { readonly kind: 'address' | 'onion' | 'name'; readonly text: string }

/**
 * Parses a host as browsers and `fetch` do (WHATWG URL), so that a check and a connection never read it differently. Octal,
 * hexadecimal and single-number addresses, percent signs, full-width digits and IDN are all resolved here.
 * @param text IPv6 in brackets
 * @returns undefined for text that is no host, for an address with a zone id and for a name of a single label
 */
export function parseHost(text: string): Host | undefined {
  // A URL parser ignores some blanks, and treats the other characters as the end of the host.
  if (text.length > 1024 || /[\s/?#@\\]/.test(text) || hasPort(text) || !URL.canParse(`https://${text}/`)) return undefined
  const { hostname } = new URL(`https://${text}/`)
  if (isIPv4(hostname)) return { kind: 'address', text: hostname }
  if (hostname.startsWith('[')) {
    const address = hostname.slice(1, -1)
    return isIPv6(address) && !address.includes('%') ? { kind: 'address', text: address } : undefined
  }
  const name = hostname.replace(/\.$/, '')
  if (!isDnsName(name)) return undefined
  if (name.endsWith('.onion')) return ONION.test(name) ? { kind: 'onion', text: name } : undefined
  return { kind: 'name', text: name }
}

const ONION = /^([a-z2-7]{16}|[a-z2-7]{56})\.onion$/

const hasPort = (text: string): boolean => text.replace(/^\[[^\]]*\]/, '').includes(':')

const isDnsName = (name: string): boolean => {
  const labels = name.split('.')
  return name.length <= 253 && labels.length > 1 && labels.every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label))
}

/** The single-label name of this machine. `parseHost` refuses it. */
export const LOCALHOST = 'localhost'

/**
 * Recognises this machine: 127.0.0.0/8, ::1 and `localhost`. Other spellings of IPv4 within IPv6 do not count.
 * @param hostname of a parsed URL, with IPv6 in brackets
 */
export const isLoopback = (hostname: string): boolean =>
  hostname === LOCALHOST || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
