import ipaddr from 'ipaddr.js'
import { FURTHER_IPV4, IPV4_REGISTRY, IPV6_GLOBAL_UNICAST, IPV6_REGISTRY, type Block } from './special-purpose.ts'

const ipv4Blocks = [...IPV4_REGISTRY, ...FURTHER_IPV4].map((block) => ({ block, mask: ipaddr.IPv4.parseCIDR(block.prefix) }))
const ipv6Blocks = IPV6_REGISTRY.map((block) => ({ block, mask: ipaddr.IPv6.parseCIDR(block.prefix) }))
const globalUnicast = ipaddr.IPv6.parseCIDR(IPV6_GLOBAL_UNICAST)
const outside: Block = { prefix: '::/0', name: 'outside of 2000::/3, Global Unicast', source: 'RFC 4291' }
const unreadable: Block = { prefix: '::/0', name: 'in no usual notation', source: 'RFC 5952' }
const isatap: Block = { prefix: '::5efe:0:0/96', name: 'ISATAP', source: 'RFC 5214' }

/**
 * The block that makes an address one for special purposes; undefined for a public one. An IPv6 address that carries an
 * IPv4 address (mapped, translated, 6to4, Teredo, ISATAP) is never public, whatever it carries: a translator on the way
 * could turn it into what may not be connected to.
 * @param address in the usual notation, without brackets and zone
 */
export function specialBlockOf(address: string): Block | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) {
    const parsed = ipaddr.IPv4.parse(address)
    return ipv4Blocks.find(({ mask }) => parsed.match(mask))?.block
  }
  if (!ipaddr.IPv6.isValid(address) || address.includes('%')) return unreadable
  const parsed = ipaddr.IPv6.parse(address)
  const listed = ipv6Blocks.find(({ mask }) => parsed.match(mask))?.block
  if (listed) return listed
  if (!parsed.match(globalUnicast)) return outside
  const [high, low] = parsed.parts.slice(4, 6)
  return (high === 0 || high === 0x200) && low === 0x5efe ? isatap : undefined
}
