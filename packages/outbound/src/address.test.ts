import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { describe, expect, test } from 'vitest'
import { findSpecialPurposeBlock } from './address.ts'
import { ADDITIONAL_IPV4, IPV4_REGISTRY, IPV6_REGISTRY } from './special-purpose.ts'

const ipv4 = [...IPV4_REGISTRY, ...ADDITIONAL_IPV4]

/** The first and the last address of a block, because a wrong mask shows at these bounds. */
const boundsOf = (prefix: string): readonly string[] => {
  const [start, bits] = ipaddr.parseCIDR(prefix)
  const last = start.toByteArray().map((byte, index) => byte | (0xff >> Math.min(8, Math.max(0, bits - 8 * index))))
  return [start.toString(), ipaddr.fromByteArray(last).toString()]
}

test.each([...ipv4, ...IPV6_REGISTRY])('$prefix ($name) is not public from its first address to its last', ({ prefix }) => {
  for (const address of boundsOf(prefix))
    expect([address, findSpecialPurposeBlock(address)]).toEqual([address, expect.anything()])
})

describe('next to a block', () => {
  test.each([
    ['9.255.255.255', '11.0.0.0'],
    ['100.63.255.255', '100.128.0.0'],
    ['126.255.255.255', '128.0.0.0'],
    ['169.253.255.255', '169.255.0.0'],
    ['172.15.255.255', '172.32.0.0'],
    ['191.255.255.255', '192.0.1.0'],
    ['192.167.255.255', '192.169.0.0'],
    ['198.17.255.255', '198.20.0.0'],
    ['223.255.255.255', '1.1.1.1'],
    ['168.63.129.15', '168.63.129.17'],
    ['2001:200::', '2003::1'],
    ['2620:4f:7fff:ffff::', '2620:4f:8001::'],
    ['2a00:1450:4001:80f::200e', '3ffe:ffff::1'],
  ])('%s and %s are public', (...addresses) => {
    for (const address of addresses) expect([address, findSpecialPurposeBlock(address)]).toEqual([address, undefined])
  })
})

test.each([
  ['::7f00:1', 'IPv4-compatible'],
  ['::ffff:0:7f00:1', 'IPv4-translated'],
  ['::ffff:808:808', 'mapped, and public within'],
  ['64:ff9b::808:808', 'NAT64 of a public address'],
  ['2002:808:808::1', '6to4 of a public address'],
  ['2001:0:808:808:8000:63bf:3fff:fdd2', 'Teredo'],
  ['2a00:1450::5efe:10.0.0.1', 'ISATAP'],
  ['2a00:1450::200:5efe:8.8.8.8', 'ISATAP of a public address'],
  ['fec0::1', 'site-local of before'],
  ['ff0e::1', 'multicast'],
  ['4000::1', 'not allotted'],
  ['fd00:ec2::254', "a cloud's metadata"],
  ['169.254.169.254', "a cloud's metadata"],
  ['100.100.100.200', "a cloud's metadata"],
  ['168.63.129.16', "a cloud's platform"],
  ['fe80::1%eth0', 'with a zone'],
  ['0177.0.0.1', 'in no usual notation'],
  ['rubbish', 'no address'],
])('%s is not public: %s', (address) => {
  expect(findSpecialPurposeBlock(address)).toBeDefined()
})

test('an IPv4 address is public if no block contains it', () => {
  const numberOf = (address: string): number =>
    ipaddr.IPv4.parse(address)
      .toByteArray()
      .reduce((sum, byte) => sum * 256 + byte, 0)
  // The test computes the ranges without masks, so that it detects a wrong mask.
  const ranges = ipv4.map(({ prefix }) => {
    const [start = '', bits = ''] = prefix.split('/')
    return { from: numberOf(start), size: 2 ** (32 - Number(bits)) }
  })
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      const isListed = ranges.some(({ from, size }) => numberOf(address) >= from && numberOf(address) < from + size)
      return (findSpecialPurposeBlock(address) !== undefined) === isListed
    }),
    { numRuns: 2000 },
  )
})
