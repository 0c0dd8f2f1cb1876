import fc from 'fast-check'
import { expect, test } from 'vitest'
import { recoverPubkey, signMessage } from './message-signature.ts'
import { derivePubkey } from './pubkey.ts'

const secretKey = new Uint8Array(32).fill(7)
const pubkey = derivePubkey(secretKey)

test('a signature has the form of lnd, 104 characters of zbase32, and recovers its key', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
      const signature = signMessage(secretKey, text)
      expect(signature).toMatch(/^[ybndrfg8ejkmcpqxot1uwisza345h769]{104}$/)
      expect(recoverPubkey(text, signature)).toBe(pubkey)
    }),
    { numRuns: 30 },
  )
})

// Published signatures of real nodes, and a signature by the secret key 1, on which all implementations agree.
test.each([
  [
    'is this compatible?',
    'rbgfioj114mh48d8egqx8o9qxqw4fmhe8jbeeabdioxnjk8z3t1ma1hu1fiswpakgucwwzwo6ofycffbsqusqdimugbh41n1g698hr9t',
    '02b80cabdf82638aac86948e4c06e82064f547768dcef977677b9ea931ea75bab5',
  ],
  [
    'hi',
    'rnrphcjswusbacjnmmmrynh9pqip7sy5cx695h6mfu64iac6qmcmsd8xnsyczwmpqp9shqkth3h4jmkgyqu5z47jfn1q7gpxtaqpx4xg',
    '02de60d194e1ca5947b59fe8e2efd6aadeabfb67f2e89e13ae1a799c1e08e4a43b',
  ],
  [
    'test message',
    'd9tibmnic9t5y41hg7hkakdcra94akas9ku3rmmj4ag9mritc8ok4p5qzefs78c9pqfhpuftqqzhydbdwfg7u6w6wdxcqpqn4sj4e73e',
    '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798',
  ],
])('the published signature of "%s" recovers its key', (text, signature, key) => {
  expect(recoverPubkey(text, signature)).toBe(key)
})

test('a changed text or another signer recovers another key', () => {
  const signature = signMessage(secretKey, 'a text')
  expect(recoverPubkey('a text.', signature)).not.toBe(pubkey)
  expect(recoverPubkey('a text', signMessage(new Uint8Array(32).fill(8), 'a text'))).not.toBe(pubkey)
})

test('a malformed signature recovers no key', () => {
  const signature = signMessage(secretKey, 'a text')
  for (const bad of [
    '',
    'd',
    'd'.repeat(104),
    'y'.repeat(104),
    signature.slice(1),
    `${signature}y`,
    `l${signature.slice(1)}`,
    signature.toUpperCase(),
  ])
    expect(recoverPubkey('a text', bad)).toBeUndefined()
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...Array.from('ybndrfg8ejkmcpqxot1uwisza345h769')), minLength: 104, maxLength: 104 }),
      (text) => {
        const key = recoverPubkey('a text', text)
        return key === undefined || key !== pubkey
      },
    ),
    { numRuns: 50 },
  )
})
