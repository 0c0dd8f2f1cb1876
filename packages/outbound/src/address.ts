import ipaddr from 'ipaddr.js'
import { ADDITIONAL_IPV4, IPV4_REGISTRY, IPV6_GLOBAL_UNICAST, IPV6_REGISTRY, type AddressBlock } from './special-purpose.ts'

const ipv4Blocks = [...IPV4_REGISTRY, ...ADDITIONAL_IPV4].map((block) => ({ block, mask: ipaddr.IPv4.parseCIDR(block.prefix) }))
const ipv6Blocks = IPV6_REGISTRY.map((block) => ({ block, mask: ipaddr.IPv6.parseCIDR(block.prefix) }))
const globalUnicast = ipaddr.IPv6.parseCIDR(IPV6_GLOBAL_UNICAST)
const NOT_GLOBAL_UNICAST: AddressBlock = { prefix: '::/0', name: 'outside of 2000::/3, Global Unicast', source: 'RFC 4291' }
const NOT_PARSEABLE: AddressBlock = { prefix: '::/0', name: 'in no usual notation', source: 'RFC 5952' }
const ISATAP: AddressBlock = { prefix: '::5efe:0:0/96', name: 'ISATAP', source: 'RFC 5214' }

/**
 * Finds the special-purpose block that contains an address. An IPv6 address that embeds an IPv4 address (mapped, translated,
 * 6to4, Teredo, ISATAP) is never public. A translator on the route could convert it to an address that is not public.
 * @param address in the usual notation, without brackets and zone
 * @returns undefined for a public address
 */
export function findSpecialPurposeBlock(address: string): AddressBlock | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) {
    const parsed = ipaddr.IPv4.parse(address)
    return ipv4Blocks.find(({ mask }) => parsed.match(mask))?.block
  }
  if (!ipaddr.IPv6.isValid(address) || address.includes('%')) return NOT_PARSEABLE
  const parsed = ipaddr.IPv6.parse(address)
  const listed = ipv6Blocks.find(({ mask }) => parsed.match(mask))?.block
  if (listed) return listed
  if (!parsed.match(globalUnicast)) return NOT_GLOBAL_UNICAST
  const [high, low] = parsed.parts.slice(4, 6)
  return (high === 0 || high === 0x200) && low === 0x5efe ? ISATAP : undefined
}
