import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isPubkey, parseConnectionUri, derivePubkey, formatSocket } from './pubkey.ts'

const pubkey = derivePubkey(new Uint8Array(32).fill(7))
const onion = 'kokqrpvmxzonckjv4k3scvlshfsstevh7co6aqecetlb7sr7mguawjyd.onion'

test('isPubkey accepts only a compressed point on the curve', () => {
  expect(isPubkey(pubkey)).toBe(true)
  expect(isPubkey(pubkey.toUpperCase())).toBe(true)
  for (const bad of [
    '',
    'zz',
    pubkey.slice(2),
    `${pubkey}00`,
    '02'.padEnd(66, 'f'),
    '04'.padEnd(66, '1'),
    `${pubkey.slice(0, -1)} `,
  ])
    expect(isPubkey(bad)).toBe(false)
})

test.each([
  '1.2.3.4',
  '255.255.255.255',
  'localhost',
  'node-1.example.org',
  '[::1]',
  '[2001:db8::ff00:42:8329]',
  '[::ffff:192.0.2.1]',
  '[::]',
  '[1:2:3:4:5:6:7:8]',
  onion,
])('the host %s is accepted', (host) => {
  expect(parseConnectionUri(`${pubkey}@${host}:9735`)).toEqual({ pubkey, host, port: 9735 })
})

test.each([
  '',
  '1.2.3',
  '1.2.3.256',
  '1.2.3.04',
  '999',
  '0x7f000001',
  '127.0.0.0x1',
  '0x7f.0x1',
  '-a.org',
  'a-.org',
  'a..org',
  'a_b.org',
  'x'.repeat(64),
  '::1',
  '[::1',
  '[1:2:3]',
  '[1::2::3]',
  '[:::]',
  '[12345::]',
  '[1:2:3:4:5:6:7:8:9]',
  '[1:2:3:4:5:6:7::8]',
  '[1.2.3.4::]',
  'short.onion',
  `${'a2'.repeat(28)}.onion`,
  `${'1'.repeat(56)}.onion`,
  'a b',
  'a@b',
  'a/b',
])('the host "%s" is refused', (host) => {
  expect(parseConnectionUri(`${pubkey}@${host}:9735`)).toBeUndefined()
})

test.each(['0', '65536', '99999', '-1', '', '09735', '9735 ', '1e3', '9'.repeat(400)])('the port "%s" is refused', (port) => {
  expect(parseConnectionUri(`${pubkey}@host:${port}`)).toBeUndefined()
})

test('parseConnectionUri ignores case, and parses a formatted socket', () => {
  const uri = parseConnectionUri(`${pubkey.toUpperCase()}@Node.Example.ORG:1`)
  expect(uri).toEqual({ pubkey, host: 'node.example.org', port: 1 })
  expect(uri && parseConnectionUri(`${uri.pubkey}@${formatSocket(uri)}`)).toEqual(uri)
})

test('parseConnectionUri returns undefined for malformed text, and never throws', () => {
  fc.assert(fc.property(fc.string({ maxLength: 400 }), (text) => parseConnectionUri(text) === undefined))
  fc.assert(
    fc.property(fc.string({ maxLength: 400 }), (host) => {
      const uri = parseConnectionUri(`${pubkey}@${host}:9735`)
      return uri === undefined || uri.host === host.toLowerCase()
    }),
  )
})
