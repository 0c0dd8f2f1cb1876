import assert from 'node:assert/strict'
import { fundsAttestationText } from '@penstock/bitcoin/attestation.ts'
import { sign } from '@penstock/bitcoin/message-signature.ts'
import { pubkeyOf } from '@penstock/bitcoin/pubkey.ts'
import type { SellerFact } from '@penstock/contracts/matching.ts'
import { fold } from '@penstock/kernel/decider.ts'
import type { Wanted } from '@penstock/kernel/process.ts'
import { given } from '@penstock/testkit/given.ts'
import fc from 'fast-check'
import { test } from 'vitest'
import { seller, type SellerDecides } from './seller.ts'

const secret = new Uint8Array(32).fill(7)
const node = pubkeyOf(secret)
const accountId = '00000000-0000-4000-8000-000000000001'
const orderId = '00000000-0000-4000-8000-000000000009'
const NOW = 1_800_000_000_000

const signatures = new Map<string, string>()
const signed = (confirmedSat: string, at: number, by = secret): string => {
  const text = fundsAttestationText({ pubkey: node, confirmedSats: BigInt(confirmedSat), at })
  const key = `${by[0]}${text}`
  const known = signatures.get(key) ?? sign(by, text)
  signatures.set(key, known)
  return known
}
const attest = (confirmedSat = '1000', at = NOW, over = {}): Wanted<SellerDecides> => ({
  type: 'Attest',
  data: { accountId, pubkey: node, confirmedSat, at, signature: signed(confirmedSat, at), node, previousAt: null, ...over },
})
const appeared = (confirmedSat = '1000', at = NOW): SellerFact => ({
  type: 'SellerAppeared',
  v: 1,
  data: { accountId, confirmedSat, at },
})
const funds = (confirmedSat: string, at = NOW): SellerFact => ({ type: 'FundsAttested', v: 1, data: { confirmedSat, at } })
const silent: SellerFact = { type: 'SellerFellSilent', v: 1, data: { lastSeenAt: NOW } }
const operator = { by: 'operator', reason: 'the first sellers of a new market' }

test('an attestation is a fact only where it changes something', () => {
  given(seller).when(attest(), NOW).then(appeared())
  given(seller, appeared())
    .when(attest('1000', NOW + 10_000), NOW + 10_000)
    .then()
  given(seller, appeared())
    .when(attest('900', NOW + 10_000), NOW + 10_000)
    .then(funds('900', NOW + 10_000))
  given(seller, appeared(), silent)
    .when(attest('900', NOW + 90_000), NOW + 90_000)
    .then(appeared('900', NOW + 90_000))
})

test('an attestation that is not the node’s own, or not of now, is refused', () => {
  given(seller)
    .when(attest('1000', NOW, { signature: signed('1000', NOW, new Uint8Array(32).fill(8)) }), NOW)
    .refuses('ATTESTATION_SIGNATURE')
  given(seller)
    .when(attest('1000', NOW, { signature: 'nonsense' }), NOW)
    .refuses('ATTESTATION_SIGNATURE')
  given(seller)
    .when(attest('1000', NOW, { confirmedSat: '9999' }), NOW)
    .refuses('ATTESTATION_SIGNATURE')
  given(seller)
    .when(attest('1000', NOW, { node: pubkeyOf(new Uint8Array(32).fill(9)) }), NOW)
    .refuses('ATTESTATION_SIGNATURE')
  given(seller)
    .when(attest(), NOW + 60_001)
    .refuses('ATTESTATION_TIME')
  given(seller)
    .when(attest(), NOW - 60_001)
    .refuses('ATTESTATION_TIME')
  given(seller, appeared())
    .when(attest('900', NOW - 1), NOW)
    .refuses('ATTESTATION_OLD')
  given(seller, appeared())
    .when(attest('900', NOW + 5, { previousAt: NOW + 6 }), NOW)
    .refuses('ATTESTATION_OLD')
})

test('silence is recorded once, and only where nothing was heard', () => {
  const lapse = (lastSeenAt: number | null) => ({ type: 'LapseSilence', data: { lastSeenAt, liveMs: 30_000 } }) as const
  given(seller, appeared())
    .when(lapse(NOW), NOW + 30_000)
    .then(silent)
  given(seller, appeared())
    .when(lapse(NOW + 1), NOW + 30_000)
    .then()
  given(seller, appeared())
    .when(lapse(null), NOW + 30_000)
    .then(silent)
  given(seller, appeared(), silent)
    .when(lapse(NOW), NOW + 60_000)
    .then()
  given(seller).when(lapse(null), NOW).then()
})

test('outcomes and grants', () => {
  const outcome = { type: 'RecordOutcome', data: { orderId, attempt: 1, outcome: 'valid' } } as const
  const recorded: SellerFact = { type: 'OutcomeRecorded', v: 1, data: { ...outcome.data, at: NOW } }
  given(seller).when(outcome, NOW).then(recorded)
  given(seller, recorded).when(outcome, NOW).then()
  given(seller, appeared()).when(outcome, NOW).then(recorded)
  const granted: SellerFact = { type: 'RailsGranted', v: 1, data: operator }
  const revoked: SellerFact = { type: 'RailsGrantRevoked', v: 1, data: operator }
  given(seller).when({ type: 'GrantRails', data: operator }).then(granted)
  given(seller, granted).when({ type: 'GrantRails', data: operator }).then()
  given(seller, granted).when({ type: 'RevokeRails', data: operator }).then(revoked)
  given(seller).when({ type: 'RevokeRails', data: operator }).then()
})

test('the same command twice adds nothing', () => {
  const some = fc.oneof(
    fc.tuple(fc.integer({ min: 1, max: 3 }), fc.nat(3)).map(([funds, later]) => attest(`${funds}`, NOW + later)),
    fc.constantFrom<Wanted<SellerDecides>>(
      { type: 'LapseSilence', data: { lastSeenAt: null, liveMs: 1 } },
      { type: 'GrantRails', data: operator },
      { type: 'RevokeRails', data: operator },
      { type: 'RecordOutcome', data: { orderId, attempt: 1, outcome: 'invalid' } },
    ),
  )
  fc.assert(
    fc.property(fc.array(some, { maxLength: 20 }), (commands) => {
      let state = fold(seller, [])
      for (const wanted of commands) {
        const command = { id: 'c', at: NOW, ...wanted } as SellerDecides // a wanted command with id and time
        const decision = seller.decide(state, command)
        if ('refused' in decision) continue
        state = decision.facts.reduce(seller.evolve, state)
        assert.deepEqual(seller.decide(state, command), { facts: [] })
      }
    }),
    { numRuns: 30 },
  )
})
