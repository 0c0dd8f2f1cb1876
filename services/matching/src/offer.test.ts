import { uuidFor } from '@penstock/testkit/book-entries.ts'
import assert from 'node:assert/strict'
import type { OfferCommand, OfferFact, OfferRefusal, OfferTerms } from '@penstock/contracts/matching.ts'
import { fold } from '@penstock/kernel/decider.ts'
import type { CommandBody } from '@penstock/kernel/process.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { given } from '@penstock/testkit/given.ts'
import fc from 'fast-check'
import { test } from 'vitest'
import { offerDecider } from './offer.decide.ts'

const me = '00000000-0000-4000-8000-000000000001'
const other = '00000000-0000-4000-8000-000000000002'
const pubkey = `02${'a'.repeat(64)}`
const promises = {
  baseFeeSat: '500',
  feeRatePpm: 2000,
  baseFeeCapSat: '1000',
  feeRateCapPpm: 500,
  minBlockLength: 4320,
  onchainPriority: 'LOW' as const,
  onchainMultiplier: 0,
}
const terms: OfferTerms = {
  totalSizeSat: '5000000',
  minSizeSat: '500000',
  maxSizeSat: '2000000',
  promises,
  conditions: [],
  assetId: null,
  autoAccept: true,
}
const create = { type: 'CreateOffer', data: { ...terms, accountId: me, pubkey } } as const
const created: OfferFact = { type: 'OfferCreated', v: 2, data: create.data }
const operator = { by: 'operator', reason: 'spam' }
const disabled: OfferFact = { type: 'OfferDisabled', v: 1, data: {} }
const enabled: OfferFact = { type: 'OfferEnabled', v: 1, data: {} }
const adminDisabled: OfferFact = { type: 'OfferDisabledByAdmin', v: 1, data: operator }
const adminEnabled: OfferFact = { type: 'OfferEnabledByAdmin', v: 1, data: operator }

const candidate = {
  offerId: uuidFor(0),
  sellerPubkey: pubkey,
  sellerAccountId: me,
  rails: false,
  sellerAmountMsat: '2500000',
  promises,
}
const key = (n: number, round = 0) => ({ orderId: uuidFor(n), attempt: 1, round })
const reserve = (n: number, sizeSat = '2000000', over = {}): CommandBody<OfferCommand> => ({
  type: 'Reserve',
  data: { ...key(n), sizeSat, candidate, isPrivate: false, autoAccepted: true, ...over },
})
const reserved = (n: number, sizeSat = '2000000'): OfferFact => ({
  type: 'CapacityReserved',
  v: 1,
  data: { ...key(n), sizeSat, candidate },
})
const refusedFor = (n: number, reason: string): OfferFact => ({ type: 'ReservationRefused', v: 1, data: { ...key(n), reason } })
const release = (n: number): CommandBody<OfferCommand> => ({ type: 'ReleaseReservation', data: { ...key(n), reason: 'over' } })
const released = (n: number, sizeSat: string): OfferFact => ({
  type: 'ReservationReleased',
  v: 1,
  data: { ...key(n), sizeSat, reason: 'over' },
})
const use = (n: number): CommandBody<OfferCommand> => ({ type: 'UseReservation', data: key(n) })
const used = (n: number, sizeSat: string): OfferFact => ({ type: 'ReservationUsed', v: 1, data: { ...key(n), sizeSat } })

test('an offer is created once', () => {
  given(offerDecider).when(create).then(created)
  given(offerDecider, created).when(create).then()
  given(offerDecider, created)
    .when({ ...create, data: { ...create.data, accountId: other } })
    .refuses('OFFER_EXISTS')
})

test.each<[OfferRefusal, Partial<OfferTerms>, Partial<OfferTerms['promises']>]>([
  ['total_size', { totalSizeSat: '19999' }, {}],
  ['total_size', { totalSizeSat: '9999999999999999999' }, {}],
  ['min_size', { minSizeSat: '0' }, {}],
  ['max_size', { maxSizeSat: '499999' }, {}],
  ['max_size', { maxSizeSat: '5000001' }, {}],
  ['min_block_length', {}, { minBlockLength: 0 }],
  ['min_block_length', {}, { minBlockLength: 105_121 }],
  ['fee_rate', {}, { feeRatePpm: 500_001 }],
  ['base_fee', {}, { baseFeeSat: '100000001' }],
  ['fee_rate_cap', {}, { feeRateCapPpm: 1_000_001 }],
  ['base_fee_cap', {}, { baseFeeCapSat: '100000001' }],
  ['onchain_multiplier', {}, { onchainMultiplier: 0.5 }],
  ['onchain_multiplier', {}, { onchainMultiplier: 5.5 }],
  ['conditions', { conditions: [{ condition: 'NODE_CHANNELS', operator: 'GREATER_THAN', value: 'many' }] }, {}],
  ['asset_id', { assetId: 'usd' }, {}],
])('invalid terms are refused: %s %o %o', (code, wrong, wrongPromises) => {
  const data = { ...create.data, ...wrong, promises: { ...promises, ...wrongPromises } }
  given(offerDecider)
    .when({ ...create, data })
    .refuses(code)
  given(offerDecider, created)
    .when({ type: 'UpdateOffer', data: { by: me, ...wrong, promises: wrongPromises } })
    .refuses(code)
})

test('only the owner changes an offer, and only the given fields change', () => {
  const update = { type: 'UpdateOffer', data: { by: me, maxSizeSat: '1000000', promises: { feeRatePpm: 900 } } } as const
  const updated: OfferFact = {
    type: 'OfferUpdated',
    v: 2,
    data: { ...terms, maxSizeSat: '1000000', promises: { ...promises, feeRatePpm: 900 } },
  }
  given(offerDecider, created).when(update).then(updated)
  given(offerDecider, created, updated).when(update).then()
  given(offerDecider, created, disabled).when(update).then(updated)
  given(offerDecider, created, adminDisabled).when(update).then(updated)
  given(offerDecider, created)
    .when({ ...update, data: { ...update.data, by: other } })
    .refuses('OFFER_OF_ANOTHER')
  given(offerDecider).when(update).refuses('OFFER_NOT_FOUND')
  given(offerDecider, created, reserved(1), used(1, '2000000'), reserved(2))
    .when({ type: 'UpdateOffer', data: { by: me, totalSizeSat: '3999999' } })
    .refuses('total_size')
})

test('an offer is disabled and enabled by its owner or by an operator', () => {
  const toggle = (by = me) => ({ type: 'ToggleOffer', data: { by } }) as const
  given(offerDecider, created).when(toggle()).then(disabled)
  given(offerDecider, created, disabled).when(toggle()).then(enabled)
  given(offerDecider, created).when(toggle(other)).refuses('OFFER_OF_ANOTHER')
  given(offerDecider, created, adminDisabled).when(toggle()).refuses('OFFER_DISABLED_BY_OPERATOR')
  given(offerDecider, created).when({ type: 'DisableOffer', data: operator }).then(adminDisabled)
  given(offerDecider, created, disabled).when({ type: 'DisableOffer', data: operator }).then(adminDisabled)
  given(offerDecider, created, adminDisabled).when({ type: 'DisableOffer', data: operator }).then()
  given(offerDecider, created, adminDisabled).when({ type: 'EnableOffer', data: operator }).then(adminEnabled)
  given(offerDecider, created, disabled).when({ type: 'EnableOffer', data: operator }).then()
})

test('capacity is reserved, released and used once', () => {
  given(offerDecider, created).when(reserve(1)).then(reserved(1))
  given(offerDecider, created, reserved(1)).when(reserve(1)).then()
  given(offerDecider, created, reserved(1)).when(release(1)).then(released(1, '2000000'))
  given(offerDecider, created, reserved(1)).when(use(1)).then(used(1, '2000000'))
  given(offerDecider, created, reserved(1), used(1, '2000000')).when(release(1)).then()
  given(offerDecider, created, reserved(1), used(1, '2000000')).when(use(1)).then()
  given(offerDecider, created, reserved(1), disabled).when(use(1)).then(used(1, '2000000'))
  given(offerDecider, created, reserved(1), adminDisabled).when(release(1)).then(released(1, '2000000'))
  given(offerDecider, created).when(use(1)).then()
})

test('the last capacity goes to one order, and released capacity can be reserved again', () => {
  const race = [created, reserved(1), reserved(2)]
  given(offerDecider, ...race)
    .when(reserve(3))
    .then(refusedFor(3, 'The offer has 1000000 sat left.'))
  given(offerDecider, ...race, refusedFor(3, 'none'))
    .when(reserve(3))
    .then() // the answer is final
  given(offerDecider, ...race, released(1, '2000000'))
    .when(reserve(4))
    .then(reserved(4))
  given(offerDecider, ...race, used(1, '2000000'))
    .when(reserve(4))
    .then(refusedFor(4, 'The offer has 1000000 sat left.'))
  given(offerDecider, ...race, released(1, '2000000'))
    .when(reserve(1, '2000000', key(1, 1)))
    .then({ ...reserved(1), data: { ...key(1, 1), sizeSat: '2000000', candidate } } as OfferFact)
})

test('a reservation that the offer no longer accepts is refused by a fact', () => {
  const refusedWith = (reason: string) => refusedFor(1, reason)
  given(offerDecider, created, disabled).when(reserve(1)).then(refusedWith('The offer is no longer open.'))
  given(offerDecider, created, adminDisabled).when(reserve(1)).then(refusedWith('The offer is no longer open.'))
  assert.throws(() => given(offerDecider).when(reserve(1)), Bug)
  given(offerDecider, created, { type: 'OfferUpdated', v: 2, data: { ...terms, autoAccept: false } })
    .when(reserve(1))
    .then(refusedWith('The offer no longer accepts orders automatically.'))
  given(offerDecider, { ...created, data: { ...create.data, autoAccept: false } })
    .when(reserve(1, '2000000', { autoAccepted: false }))
    .then(reserved(1))
  given(offerDecider, created)
    .when(reserve(1, '2000000', { isPrivate: true }))
    .then(refusedWith('Private channels are sold by the rails cluster only.'))
})

test('the funding of an open reservation is recorded once for each change', () => {
  const recordFunding = (seen: boolean, round = 0): CommandBody<OfferCommand> => ({
    type: 'RecordFunding',
    data: { ...key(1, round), seen },
  })
  const funding = (seen: boolean): OfferFact => ({
    type: 'ReservationFundingRecorded',
    v: 1,
    data: { ...key(1), sizeSat: '2000000', seen },
  })
  given(offerDecider, created, reserved(1)).when(recordFunding(true)).then(funding(true))
  given(offerDecider, created, reserved(1)).when(recordFunding(false)).then()
  given(offerDecider, created, reserved(1), funding(true)).when(recordFunding(true)).then()
  given(offerDecider, created, reserved(1), funding(true)).when(recordFunding(false)).then(funding(false))
  given(offerDecider, created, reserved(1)).when(recordFunding(true, 1)).then()
  given(offerDecider, created, reserved(1), funding(true), used(1, '2000000')).when(recordFunding(false)).then()
})

test('a release that arrives before its reservation is recorded', () => {
  given(offerDecider, created).when(release(1)).then(released(1, '0'))
  given(offerDecider, created, released(1, '0')).when(reserve(1)).then()
  given(offerDecider, created, released(1, '0')).when(release(1)).then()
})

const someCommand = fc.oneof(
  fc
    .tuple(fc.nat(5), fc.integer({ min: 1, max: 30 }), fc.boolean())
    .map(([n, size, isPrivate]) => reserve(n, `${size * 100_000}`, { isPrivate })),
  fc.nat(5).map(release),
  fc.nat(5).map(use),
  fc.constantFrom<CommandBody<OfferCommand>>(
    { type: 'ToggleOffer', data: { by: me } },
    { type: 'DisableOffer', data: operator },
    { type: 'EnableOffer', data: operator },
    { type: 'UpdateOffer', data: { by: me, totalSizeSat: '3000000' } },
    { type: 'UpdateOffer', data: { by: me, totalSizeSat: '6000000', autoAccept: false } },
    create,
  ),
)

test('no offer is ever oversold, and a repeated command adds nothing', () => {
  fc.assert(
    fc.property(fc.array(someCommand, { maxLength: 60 }), (commands) => {
      let state = fold(offerDecider, [created])
      for (const body of commands) {
        const command = { id: 'c', at: 0, ...body } as OfferCommand // the command with an id and a time
        const decision = offerDecider.decide(state, command)
        if (!('facts' in decision)) continue
        state = decision.facts.reduce(offerDecider.evolve, state)
        assert.ok(state.status !== 'NONE')
        const open = Object.values(state.open).reduce((sum, size) => sum + size, 0n)
        assert.equal(state.reservedSat, open)
        assert.ok(state.reservedSat + state.usedSat <= BigInt(state.terms.totalSizeSat))
        if (command.type !== 'ToggleOffer') assert.deepEqual(offerDecider.decide(state, command), { facts: [] })
      }
    }),
  )
})
