import assert from 'node:assert/strict'
import { formatFundsAttestation } from '@penstock/bitcoin/attestation.ts'
import { signMessage } from '@penstock/bitcoin/message-signature.ts'
import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import type { SellerFact } from '@penstock/contracts/matching.ts'
import { fold } from '@penstock/kernel/decider.ts'
import type { CommandBody } from '@penstock/kernel/process.ts'
import { given } from '@penstock/testkit/given.ts'
import fc from 'fast-check'
import { test } from 'vitest'
import { sellerDecider, type EnrichedSellerCommand } from './seller.ts'

const secret = new Uint8Array(32).fill(7)
const node = derivePubkey(secret)
const accountId = '00000000-0000-4000-8000-000000000001'
const orderId = '00000000-0000-4000-8000-000000000009'
const NOW = 1_800_000_000_000

const signatures = new Map<string, string>()
const signed = (confirmedSat: string, at: number, by = secret): string => {
  const text = formatFundsAttestation({ pubkey: node, confirmedSats: BigInt(confirmedSat), at })
  const key = `${by[0]}${text}`
  const known = signatures.get(key) ?? signMessage(by, text)
  signatures.set(key, known)
  return known
}
const attest = (confirmedSat = '1000', at = NOW, over = {}): CommandBody<EnrichedSellerCommand> => ({
  type: 'Attest',
  data: {
    accountId,
    pubkey: node,
    confirmedSat,
    at,
    signature: signed(confirmedSat, at),
    node,
    previousAt: null,
    isAwaited: false,
    receivedAt: at,
    ...over,
  },
})
const appeared = (confirmedSat = '1000', at = NOW): SellerFact => ({
  type: 'SellerAppeared',
  v: 1,
  data: { accountId, confirmedSat, at },
})
const funds = (confirmedSat: string, at = NOW): SellerFact => ({ type: 'FundsAttested', v: 1, data: { confirmedSat, at } })
const silent: SellerFact = { type: 'SellerFellSilent', v: 1, data: { lastSeenAt: NOW } }
const operator = { by: 'operator', reason: 'the first sellers of a new market' }

test('an attestation is a fact only if it changes something', () => {
  given(sellerDecider).when(attest(), NOW).then(appeared())
  given(sellerDecider, appeared())
    .when(attest('1000', NOW + 10_000), NOW + 10_000)
    .then()
  given(sellerDecider, appeared())
    .when(attest('900', NOW + 10_000), NOW + 10_000)
    .then(funds('900', NOW + 10_000))
  given(sellerDecider, appeared())
    .when(attest('1000', NOW + 10_000, { isAwaited: true }), NOW + 10_000)
    .then(funds('1000', NOW + 10_000))
  given(sellerDecider, appeared(), silent)
    .when(attest('900', NOW + 90_000), NOW + 90_000)
    .then(appeared('900', NOW + 90_000))
})

test('an attestation with a wrong signature or a wrong time is refused', () => {
  given(sellerDecider)
    .when(attest('1000', NOW, { signature: signed('1000', NOW, new Uint8Array(32).fill(8)) }), NOW)
    .refuses('ATTESTATION_SIGNATURE')
  given(sellerDecider)
    .when(attest('1000', NOW, { signature: 'nonsense' }), NOW)
    .refuses('ATTESTATION_SIGNATURE')
  given(sellerDecider)
    .when(attest('1000', NOW, { confirmedSat: '9999' }), NOW)
    .refuses('ATTESTATION_SIGNATURE')
  given(sellerDecider)
    .when(attest('1000', NOW, { node: derivePubkey(new Uint8Array(32).fill(9)) }), NOW)
    .refuses('ATTESTATION_SIGNATURE')
  given(sellerDecider)
    .when(attest('1000', NOW, { receivedAt: NOW - 60_001 }), NOW)
    .refuses('ATTESTATION_TIME')
  given(sellerDecider, appeared())
    .when(attest('900', NOW - 1), NOW)
    .refuses('ATTESTATION_OLD')
  given(sellerDecider, appeared())
    .when(attest('900', NOW + 5, { previousAt: NOW + 6 }), NOW)
    .refuses('ATTESTATION_OLD')
})

test('an attestation that waited counts for a minute, unless a later one has arrived', () => {
  const late = (ms: number) => attest('900', NOW + 10_000, { receivedAt: NOW + 10_000 + ms })
  given(sellerDecider, appeared(), silent)
    .when(late(60_000), NOW + 10_000)
    .then(appeared('900', NOW + 10_000))
  given(sellerDecider, appeared(), silent)
    .when(late(60_001), NOW + 10_000)
    .refuses('ATTESTATION_TIME')
  given(sellerDecider, appeared(), funds('800', NOW + 20_000))
    .when(late(20_000), NOW + 10_000)
    .refuses('ATTESTATION_OLD')
})

test('silence is recorded once, and only without a recent heartbeat', () => {
  const lapse = (lastSeenAt: number | null) => ({ type: 'LapseSilence', data: { lastSeenAt, liveMs: 30_000 } }) as const
  given(sellerDecider, appeared())
    .when(lapse(NOW), NOW + 30_000)
    .then(silent)
  given(sellerDecider, appeared())
    .when(lapse(NOW + 1), NOW + 30_000)
    .then()
  given(sellerDecider, appeared())
    .when(lapse(null), NOW + 30_000)
    .then(silent)
  given(sellerDecider, appeared(), silent)
    .when(lapse(NOW), NOW + 60_000)
    .then()
  given(sellerDecider).when(lapse(null), NOW).then()
})

test('each outcome and each grant is recorded once', () => {
  const outcome = { type: 'RecordOutcome', data: { orderId, attempt: 1, outcome: 'valid' } } as const
  const recorded: SellerFact = { type: 'OutcomeRecorded', v: 1, data: { ...outcome.data, at: NOW } }
  given(sellerDecider).when(outcome, NOW).then(recorded)
  given(sellerDecider, recorded).when(outcome, NOW).then()
  given(sellerDecider, appeared()).when(outcome, NOW).then(recorded)
  const granted: SellerFact = { type: 'RailsGranted', v: 1, data: operator }
  const revoked: SellerFact = { type: 'RailsGrantRevoked', v: 1, data: operator }
  given(sellerDecider).when({ type: 'GrantRails', data: operator }).then(granted)
  given(sellerDecider, granted).when({ type: 'GrantRails', data: operator }).then()
  given(sellerDecider, granted).when({ type: 'RevokeRails', data: operator }).then(revoked)
  given(sellerDecider).when({ type: 'RevokeRails', data: operator }).then()
})

test('a repeated command adds nothing', () => {
  const some = fc.oneof(
    fc.tuple(fc.integer({ min: 1, max: 3 }), fc.nat(3)).map(([funds, later]) => attest(`${funds}`, NOW + later)),
    fc.constantFrom<CommandBody<EnrichedSellerCommand>>(
      { type: 'LapseSilence', data: { lastSeenAt: null, liveMs: 1 } },
      { type: 'GrantRails', data: operator },
      { type: 'RevokeRails', data: operator },
      { type: 'RecordOutcome', data: { orderId, attempt: 1, outcome: 'invalid' } },
    ),
  )
  fc.assert(
    fc.property(fc.array(some, { maxLength: 20 }), (commands) => {
      let state = fold(sellerDecider, [])
      for (const body of commands) {
        const command = { id: 'c', at: NOW, ...body } as EnrichedSellerCommand // the command with an id and a time
        const decision = sellerDecider.decide(state, command)
        if ('refused' in decision) continue
        state = decision.facts.reduce(sellerDecider.evolve, state)
        assert.deepEqual(sellerDecider.decide(state, command), { facts: [] })
      }
    }),
    { numRuns: 30 },
  )
})
