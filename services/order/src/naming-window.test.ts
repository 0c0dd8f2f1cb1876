import type { OrderFact } from '@penstock/contracts/order.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { given } from '@penstock/testkit/given.ts'
import { candidateOf } from '@penstock/testkit/order-terms.ts'
import { expect, test } from 'vitest'
import { fact } from './fact.ts'
import { fulfilment } from './fulfilment.ts'
import { order } from './order.ts'
import { asked, replaced } from './samples.contract.ts'

const ORDER = '00000000-0000-4000-8000-0000000000aa'
const outpoint = (n: number): string => `${`${n}`.padStart(2, '0').repeat(32)}:0`
const window = { seenBefore: 106, namedBefore: 104, publishUntil: 105 }
const later = { seenBefore: 126, namedBefore: 124, publishUntil: 125 }
const name = (n: number, attempt = 1) =>
  ({
    type: 'NameOutpoint',
    data: { by: candidateOf(attempt).sellerAccountId, outpoint: outpoint(n), attestation: null },
  }) as const
const offeredFact = (n: number, attempt = 1) => fact('OutpointOffered', { attempt, outpoint: outpoint(n), attestation: null })
const offered = (n: number, attempt = 1): readonly OrderFact[] => [
  offeredFact(n, attempt),
  fact('OutpointClaimed', { attempt, outpoint: outpoint(n) }),
]
const named = (n: number, attempt = 1): readonly OrderFact[] => [
  ...offered(n, attempt),
  fact('OutpointNamed', { attempt, outpoint: outpoint(n), window }),
]
const note = (n: number, number: number, more: object = {}) =>
  ({
    type: 'RecordOutpointNoted',
    data: {
      attempt: 1,
      outpoint: outpoint(n),
      noted: true,
      attested: false,
      reason: null,
      tooLate: false,
      naming: number,
      ...more,
    },
  }) as const
const five = [1, 2, 3, 4, 5].flatMap((n) => named(n))

test('five namings of an attempt are taken, and a sixth is refused', () => {
  given(order, ...asked, ...five.slice(0, -3))
    .when(name(5))
    .then(offeredFact(5))
  const { decision } = given(order, ...asked, ...five).when(name(6))
  expect(decision).toEqual({
    refused: { code: 'TOO_MANY', message: '5 transactions were named for this order already, and no other one is taken' },
  })
})

test('an outpoint of before does not count, nor does a refused one', () => {
  given(order, ...asked, ...five)
    .when(name(2))
    .then(...offered(2))
  const again = [1, 2, 1, 2, 1, 2].flatMap((n) => named(n))
  given(order, ...asked, ...again)
    .when(name(3))
    .then(offeredFact(3))
  const refused = [1, 2, 3, 4, 5, 6].flatMap((n): readonly OrderFact[] => [
    offeredFact(n),
    fact('OutpointRefused', { attempt: 1, outpoint: outpoint(n), reason: 'This outpoint serves another order' }),
  ])
  given(order, ...asked, ...refused)
    .when(name(7))
    .then(offeredFact(7))
})

test('a seller that comes next has five of its own', () => {
  const first = [...replaced.slice(0, asked.length), ...five, fact('FundingSeen', { outpoint: outpoint(5) })]
  expect(given(order, ...first).when(name(6)).decision).toMatchObject({ refused: { code: 'NOT_NOW' } })
  given(order, ...replaced)
    .when(name(6, 2))
    .then(offeredFact(6, 2))
})

const toldBy = (type: string, history: readonly OrderFact[]): readonly object[] =>
  fulfilment(fold(order, history), ORDER).flatMap((step) =>
    step.kind === 'command' && step.command.type === type ? [step.command.data] : [],
  )

test('the window of the first naming is kept, told with every other one, and given to the watch', () => {
  given(order, ...asked, ...offered(1))
    .when(note(1, 1, { window }))
    .then(fact('OutpointNamed', { attempt: 1, outpoint: outpoint(1), window }))
  given(order, ...asked, ...named(1), ...offered(2))
    .when(note(2, 2, { window: later }))
    .then(fact('OutpointNamed', { attempt: 1, outpoint: outpoint(2), window }))
  expect(toldBy('WatchOutpoint', [...asked, ...named(1), ...named(2)])).toMatchObject([
    { outpoint: outpoint(2), seenBefore: window.seenBefore },
  ])
})

test('settlement is told the window for an outpoint that is new to the attempt alone', () => {
  const [first] = toldBy('NoteOutpoint', [...asked, ...offered(1)])
  expect(first).toMatchObject({ fundingSeenBlocks: expect.any(Number) as number })
  expect(first).not.toHaveProperty('window')
  expect(toldBy('NoteOutpoint', [...asked, ...named(1), ...offered(2)])).toMatchObject([{ window }])
  const [back] = toldBy('NoteOutpoint', [...asked, ...named(1), ...named(2), ...offered(1)])
  expect(back).not.toHaveProperty('window')
})

test('an order whose outpoints were named by an older version goes on without a window', () => {
  const old = fact('OutpointNamed', { attempt: 1, outpoint: outpoint(1) })
  const [watch] = toldBy('WatchOutpoint', [...asked, ...offered(1), old])
  expect(watch).toMatchObject({ outpoint: outpoint(1) })
  expect(watch).not.toHaveProperty('seenBefore')
})
