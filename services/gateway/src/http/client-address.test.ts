import assert from 'node:assert/strict'
import { test } from 'vitest'
import { toAddressKey, listNetworks, toAddressPrefix } from './client-address.ts'

const cases: Readonly<Record<string, string>> = {
  '192.0.2.7': '192.0.2.7',
  '::ffff:192.0.2.7': '192.0.2.7',
  '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
  '2001:0DB8:0001:0002::1': '2001:db8:1:2::/64',
  '2001:db8::1': '2001:db8:0:0::/64',
  '::1': '0:0:0:0::/64',
  'fe80::1%eth0': 'fe80:0:0:0::/64',
  '64:ff9b::192.0.2.33': '64:ff9b:0:0::/64',
  nonsense: 'unknown',
  '': 'unknown',
}

for (const [ip, key] of Object.entries(cases))
  test(`${ip} counts as ${key}`, () => {
    assert.equal(toAddressKey(ip), key)
  })

test('a missing address counts as unknown', () => {
  assert.equal(toAddressKey(undefined), 'unknown')
})

test('an IPv6 address counts in its /64, /56 and /48, with limits that grow', () => {
  assert.deepEqual(listNetworks(toAddressKey('2001:db8:1:a2c3::5')), [
    { network: '2001:db8:1:a2c3::/64', share: 1 },
    { network: '2001:db8:1:a200::/56', share: 4 },
    { network: '2001:db8:1::/48', share: 16 },
  ])
  for (const key of ['192.0.2.7', 'unknown']) assert.deepEqual(listNetworks(key), [{ network: key, share: 1 }])
})

test('a prefix is the /24 of an IPv4 address or the /48 of an IPv6 address', () => {
  assert.equal(toAddressPrefix('192.0.2.7'), '192.0.2.0/24')
  assert.equal(toAddressPrefix('2001:db8:1:2::/64'), '2001:db8:1::/48')
  assert.equal(toAddressPrefix('unknown'), null)
})
