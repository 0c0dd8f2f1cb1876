import { isIPv4, isIPv6 } from 'node:net'

/**
 * Returns the key under which a caller is counted: its IPv4 address, or the /64 of its IPv6 address.
 * @param ip the address from the connection or a trusted proxy
 */
export function toAddressKey(ip: string | undefined): string {
  const address = (ip ?? '').replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '')
  if (isIPv4(address)) return address
  if (!isIPv6(address)) return 'unknown'
  const [head = '', tail = ''] = address.toLowerCase().split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail === '' ? [] : tail.split(':')
  // The groups that `::` replaces. A dotted tail counts as one group instead of two, but only the first four groups matter.
  const zeros = address.includes('::') ? Array<string>(Math.max(0, 8 - first.length - last.length)).fill('0') : []
  const groups = [...first, ...zeros, ...last].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
  return `${groups.join(':')}::/64`
}

/** Limits of wider networks as multiples of the limit of a /64. Providers give a customer a /56 or /48 as easily as a /64. */
const SHARE_OF_56 = 4
const SHARE_OF_48 = 16

/** Lists the networks in which a caller counts, narrowest first. @param key as `toAddressKey` returns it */
export function listNetworks(key: string): readonly { readonly network: string; readonly share: number }[] {
  const [, site, subnet] = /^([0-9a-f]+:[0-9a-f]+:[0-9a-f]+):([0-9a-f]+)::\/64$/.exec(key) ?? []
  if (site === undefined || subnet === undefined) return [{ network: key, share: 1 }]
  const wider = (Number.parseInt(subnet, 16) & 0xff00).toString(16)
  return [
    { network: key, share: 1 },
    { network: `${site}:${wider}::/56`, share: SHARE_OF_56 },
    { network: `${site}::/48`, share: SHARE_OF_48 },
  ]
}

/** Returns the prefix of an address that shows an owner where a session is used. @param key as `toAddressKey` returns it */
export function toAddressPrefix(key: string): string | null {
  if (isIPv4(key)) return `${key.split('.').slice(0, 3).join('.')}.0/24`
  return listNetworks(key).at(2)?.network ?? null
}
