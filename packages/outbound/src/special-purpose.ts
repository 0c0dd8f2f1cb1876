/** A block of addresses to which no connection may be made for a stranger. */
export type AddressBlock = { readonly prefix: string; readonly name: string; readonly source: string }

const defineBlock = (prefix: string, name: string, source: string): AddressBlock => ({ prefix, name, source })

/**
 * All rows of IANA's IPv4 Special-Purpose Address Registry (iana.org/assignments/iana-ipv4-special-registry, 2025-10-09).
 * The globally reachable rows are included: no Lightning node and no webhook is at an anycast service of the network itself.
 */
export const IPV4_REGISTRY: readonly AddressBlock[] = [
  defineBlock('0.0.0.0/8', 'This network', 'RFC 791'),
  defineBlock('0.0.0.0/32', 'This host on this network', 'RFC 1122'),
  defineBlock('10.0.0.0/8', 'Private-Use', 'RFC 1918'),
  defineBlock('100.64.0.0/10', 'Shared Address Space', 'RFC 6598'),
  defineBlock('127.0.0.0/8', 'Loopback', 'RFC 1122'),
  defineBlock('169.254.0.0/16', 'Link Local', 'RFC 3927'),
  defineBlock('172.16.0.0/12', 'Private-Use', 'RFC 1918'),
  defineBlock('192.0.0.0/24', 'IETF Protocol Assignments', 'RFC 6890'),
  defineBlock('192.0.0.0/29', 'IPv4 Service Continuity Prefix', 'RFC 7335'),
  defineBlock('192.0.0.8/32', 'IPv4 dummy address', 'RFC 7600'),
  defineBlock('192.0.0.9/32', 'Port Control Protocol Anycast', 'RFC 7723'),
  defineBlock('192.0.0.10/32', 'Traversal Using Relays around NAT Anycast', 'RFC 8155'),
  defineBlock('192.0.0.170/32', 'NAT64/DNS64 Discovery', 'RFC 8880'),
  defineBlock('192.0.0.171/32', 'NAT64/DNS64 Discovery', 'RFC 8880'),
  defineBlock('192.0.2.0/24', 'Documentation (TEST-NET-1)', 'RFC 5737'),
  defineBlock('192.31.196.0/24', 'AS112-v4', 'RFC 7535'),
  defineBlock('192.52.193.0/24', 'AMT', 'RFC 7450'),
  defineBlock('192.88.99.0/24', 'Deprecated (6to4 Relay Anycast)', 'RFC 7526'),
  defineBlock('192.88.99.2/32', '6a44-relay anycast address', 'RFC 6751'),
  defineBlock('192.168.0.0/16', 'Private-Use', 'RFC 1918'),
  defineBlock('192.175.48.0/24', 'Direct Delegation AS112 Service', 'RFC 7534'),
  defineBlock('198.18.0.0/15', 'Benchmarking', 'RFC 2544'),
  defineBlock('198.51.100.0/24', 'Documentation (TEST-NET-2)', 'RFC 5737'),
  defineBlock('203.0.113.0/24', 'Documentation (TEST-NET-3)', 'RFC 5737'),
  defineBlock('240.0.0.0/4', 'Reserved', 'RFC 1112'),
  defineBlock('255.255.255.255/32', 'Limited Broadcast', 'RFC 919'),
]

/** All rows of IANA's IPv6 Special-Purpose Address Registry (iana.org/assignments/iana-ipv6-special-registry, 2025-10-09). */
export const IPV6_REGISTRY: readonly AddressBlock[] = [
  defineBlock('::1/128', 'Loopback Address', 'RFC 4291'),
  defineBlock('::/128', 'Unspecified Address', 'RFC 4291'),
  defineBlock('::ffff:0:0/96', 'IPv4-mapped Address', 'RFC 4291'),
  defineBlock('64:ff9b::/96', 'IPv4-IPv6 Translation', 'RFC 6052'),
  defineBlock('64:ff9b:1::/48', 'IPv4-IPv6 Translation', 'RFC 8215'),
  defineBlock('100::/64', 'Discard-Only Address Block', 'RFC 6666'),
  defineBlock('100:0:0:1::/64', 'Dummy IPv6 Prefix', 'RFC 9780'),
  defineBlock('2001::/23', 'IETF Protocol Assignments', 'RFC 2928'),
  defineBlock('2001::/32', 'TEREDO', 'RFC 4380'),
  defineBlock('2001:1::1/128', 'Port Control Protocol Anycast', 'RFC 7723'),
  defineBlock('2001:1::2/128', 'Traversal Using Relays around NAT Anycast', 'RFC 8155'),
  defineBlock('2001:1::3/128', 'DNS-SD Service Registration Protocol Anycast', 'RFC 9665'),
  defineBlock('2001:2::/48', 'Benchmarking', 'RFC 5180'),
  defineBlock('2001:3::/32', 'AMT', 'RFC 7450'),
  defineBlock('2001:4:112::/48', 'AS112-v6', 'RFC 7535'),
  defineBlock('2001:10::/28', 'Deprecated (previously ORCHID)', 'RFC 4843'),
  defineBlock('2001:20::/28', 'ORCHIDv2', 'RFC 7343'),
  defineBlock('2001:30::/28', 'Drone Remote ID Protocol Entity Tags', 'RFC 9374'),
  defineBlock('2001:db8::/32', 'Documentation', 'RFC 3849'),
  defineBlock('2002::/16', '6to4', 'RFC 3056'),
  defineBlock('2620:4f:8000::/48', 'Direct Delegation AS112 Service', 'RFC 7534'),
  defineBlock('3fff::/20', 'Documentation', 'RFC 9637'),
  defineBlock('5f00::/16', 'Segment Routing (SRv6) SIDs', 'RFC 9602'),
  defineBlock('fc00::/7', 'Unique-Local', 'RFC 4193'),
  defineBlock('fe80::/10', 'Link-Local Unicast', 'RFC 4291'),
]

/** Blocks outside the registries: multicast, and public addresses at which a cloud serves its own machines. */
export const ADDITIONAL_IPV4: readonly AddressBlock[] = [
  defineBlock('224.0.0.0/4', 'Multicast', 'RFC 5771'),
  defineBlock('168.63.129.16/32', 'Azure platform services', "the cloud's documentation"),
]

/** The only part of IPv6 from which IANA allots addresses of hosts (RFC 4291, IPv6 Global Unicast Address Assignments). */
export const IPV6_GLOBAL_UNICAST = '2000::/3'

/**
 * Domains without public hosts: IANA's Special-Use Domain Names (RFC 6761 and later), and the domains that ICANN or custom
 * reserves for local networks. `.onion` has its own rules.
 */
export const LOCAL_DOMAINS: readonly string[] = [
  'alt',
  'corp',
  'example',
  'home',
  'home.arpa',
  'internal',
  'intranet',
  'invalid',
  'lan',
  'local',
  'localdomain',
  'localhost',
  'private',
  'test',
]
