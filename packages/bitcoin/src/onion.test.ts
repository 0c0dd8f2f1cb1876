import { expect, test } from 'vitest'
import { isOnionName } from './onion.ts'

// Made with the SHA3-256 of OpenSSL, from a key of our own.
const onion = 'kokqrpvmxzonckjv4k3scvlshfsstevh7co6aqecetlb7sr7mguawjyd.onion'

test.each([onion, 'expyuzz4wqqyqhjn.onion'])('the onion name %s is valid', (name) => {
  expect(isOnionName(name)).toBe(true)
})

test('an onion name with any other letter at any place is refused', () => {
  const mistyped = Array.from(onion.slice(0, 56)).flatMap((right, at) =>
    ['a', 'b', 'c', '7'].filter((one) => one !== right).map((wrong) => onion.slice(0, at) + wrong + onion.slice(at + 1)),
  )
  expect(mistyped.filter(isOnionName)).toEqual([])
})

test.each([
  ['another version with its own checksum', 'kokqrpvmxzonckjv4k3scvlshfsstevh7co6aqecetlb7sr7mguhwqye.onion'],
  ['a wrong checksum', `${'a2'.repeat(28)}.onion`],
  ['a subdomain', `www.${onion}`],
  ['a digit outside of the alphabet', `1${onion.slice(1)}`],
  ['a missing letter', onion.slice(1)],
  ['no name', '.onion'],
])('an onion name with %s is refused', (_, name) => {
  expect(isOnionName(name)).toBe(false)
})
