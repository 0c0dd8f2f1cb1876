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
