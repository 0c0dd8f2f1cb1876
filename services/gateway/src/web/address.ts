import { isIPv4, isIPv6 } from 'node:net'

/**
 * What counts as one caller: an IPv4 address, or the /64 that a subscriber of IPv6 has for itself.
 * @param ip as the connection or a believed proxy says
 */
export function addressKey(ip: string | undefined): string {
  const plain = (ip ?? '').replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '')
  if (isIPv4(plain)) return plain
  if (!isIPv6(plain)) return 'unknown'
  const [head = '', tail = ''] = plain.toLowerCase().split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail === '' ? [] : tail.split(':')
  // What `::` stands for; a dotted tail is longer than its groups, and stands behind the first four anyway.
  const zeros = plain.includes('::') ? Array<string>(Math.max(0, 8 - first.length - last.length)).fill('0') : []
  const groups = [...first, ...zeros, ...last].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
  return `${groups.join(':')}::/64`
}

/** How many times a single network's limit a wider one has: a provider gives a customer a /56 or a /48 as easily as a /64. */
const SHARE_OF_56 = 4
const SHARE_OF_48 = 16

/** The networks in which a caller counts, the narrowest first. @param key as `addressKey` makes it */
export function networksOf(key: string): readonly { readonly network: string; readonly share: number }[] {
  const [, site, subnet] = /^([0-9a-f]+:[0-9a-f]+:[0-9a-f]+):([0-9a-f]+)::\/64$/.exec(key) ?? []
  if (site === undefined || subnet === undefined) return [{ network: key, share: 1 }]
  const wider = (Number.parseInt(subnet, 16) & 0xff00).toString(16)
  return [
    { network: key, share: 1 },
    { network: `${site}:${wider}::/56`, share: SHARE_OF_56 },
    { network: `${site}::/48`, share: SHARE_OF_48 },
  ]
}

/** As much of an address as tells its owner where a session is used. @param key as `addressKey` makes it */
export function prefixOf(key: string): string | null {
  if (isIPv4(key)) return `${key.split('.').slice(0, 3).join('.')}.0/24`
  return networksOf(key).at(2)?.network ?? null
}
