import type { OrderFact } from '@penstock/contracts/order.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { given } from '@penstock/testkit/given.ts'
import { createCandidate } from '@penstock/testkit/order-terms.ts'
import { expect, test } from 'vitest'
import { orderFact } from './outcomes.ts'
import { fulfilment } from './fulfilment.ts'
import { orderDecider } from './order.ts'
import { openRequestedFacts, sellerReplacedFacts } from './order-facts.fixture.ts'

const ORDER = '00000000-0000-4000-8000-0000000000aa'
const outpoint = (n: number): string => `${`${n}`.padStart(2, '0').repeat(32)}:0`
const window = { seenBefore: 106, namedBefore: 104, publishUntil: 105 }
const laterWindow = { seenBefore: 126, namedBefore: 124, publishUntil: 125 }
const nameCommand = (n: number, attempt = 1) =>
  ({
    type: 'SubmitOutpoint',
    data: { by: createCandidate(attempt).sellerAccountId, outpoint: outpoint(n), attestation: null },
  }) as const
const submittedFact = (n: number, attempt = 1) =>
  orderFact('OutpointSubmitted', { attempt, outpoint: outpoint(n), attestation: null })
const claimedFacts = (n: number, attempt = 1): readonly OrderFact[] => [
  submittedFact(n, attempt),
  orderFact('OutpointClaimedRecorded', { attempt, outpoint: outpoint(n) }),
]
const acceptedFacts = (n: number, attempt = 1): readonly OrderFact[] => [
  ...claimedFacts(n, attempt),
  orderFact('OutpointAccepted', { attempt, outpoint: outpoint(n), window }),
]
const registeredReport = (n: number, number: number, more: object = {}) =>
  ({
    type: 'RecordOutpointRegistered',
    data: {
      attempt: 1,
      outpoint: outpoint(n),
      registered: true,
      attested: false,
      reason: null,
      tooLate: false,
      outpointNumber: number,
      ...more,
    },
  }) as const
const fiveSubmissions = [1, 2, 3, 4, 5].flatMap((n) => acceptedFacts(n))

test('an attempt may submit five outpoints, and a sixth is refused', () => {
  given(orderDecider, ...openRequestedFacts, ...fiveSubmissions.slice(0, -3))
    .when(nameCommand(5))
    .then(submittedFact(5))
  const { decision } = given(orderDecider, ...openRequestedFacts, ...fiveSubmissions).when(nameCommand(6))
  expect(decision).toEqual({
    refused: { code: 'TOO_MANY', message: '5 transactions were submitted for this order, which is the most' },
  })
})

test('neither a repeated nor a refused outpoint counts towards the limit', () => {
  given(orderDecider, ...openRequestedFacts, ...fiveSubmissions)
    .when(nameCommand(2))
    .then(...claimedFacts(2))
  const again = [1, 2, 1, 2, 1, 2].flatMap((n) => acceptedFacts(n))
  given(orderDecider, ...openRequestedFacts, ...again)
    .when(nameCommand(3))
    .then(submittedFact(3))
  const refused = [1, 2, 3, 4, 5, 6].flatMap((n): readonly OrderFact[] => [
    submittedFact(n),
    orderFact('OutpointRefused', { attempt: 1, outpoint: outpoint(n), reason: 'This outpoint serves another order' }),
  ])
  given(orderDecider, ...openRequestedFacts, ...refused)
    .when(nameCommand(7))
    .then(submittedFact(7))
})

test('the next seller may submit five outpoints of its own', () => {
  const first = [
    ...sellerReplacedFacts.slice(0, openRequestedFacts.length),
    ...fiveSubmissions,
    orderFact('FundingSeenRecorded', { outpoint: outpoint(5) }),
  ]
  expect(given(orderDecider, ...first).when(nameCommand(6)).decision).toMatchObject({ refused: { code: 'NOT_NOW' } })
  given(orderDecider, ...sellerReplacedFacts)
    .when(nameCommand(6, 2))
    .then(submittedFact(6, 2))
})

const commandsOf = (type: string, history: readonly OrderFact[]): readonly object[] =>
  fulfilment(fold(orderDecider, history), ORDER).flatMap((step) =>
    step.kind === 'command' && step.command.type === type ? [step.command.data] : [],
  )

test('the window of the first outpoint stays in force for later outpoints, and is sent to the watch', () => {
  given(orderDecider, ...openRequestedFacts, ...claimedFacts(1))
    .when(registeredReport(1, 1, { window }))
    .then(orderFact('OutpointAccepted', { attempt: 1, outpoint: outpoint(1), window }))
  given(orderDecider, ...openRequestedFacts, ...acceptedFacts(1), ...claimedFacts(2))
    .when(registeredReport(2, 2, { window: laterWindow }))
    .then(orderFact('OutpointAccepted', { attempt: 1, outpoint: outpoint(2), window }))
  expect(commandsOf('WatchOutpoint', [...openRequestedFacts, ...acceptedFacts(1), ...acceptedFacts(2)])).toMatchObject([
    { outpoint: outpoint(2), seenBefore: window.seenBefore },
  ])
})

test('settlement receives the window only with an outpoint that is new to the attempt', () => {
  const [first] = commandsOf('RegisterOutpoint', [...openRequestedFacts, ...claimedFacts(1)])
  expect(first).toMatchObject({ fundingSeenBlocks: expect.any(Number) as number })
  expect(first).not.toHaveProperty('window')
  expect(commandsOf('RegisterOutpoint', [...openRequestedFacts, ...acceptedFacts(1), ...claimedFacts(2)])).toMatchObject([
    { window },
  ])
  const [back] = commandsOf('RegisterOutpoint', [
    ...openRequestedFacts,
    ...acceptedFacts(1),
    ...acceptedFacts(2),
    ...claimedFacts(1),
  ])
  expect(back).not.toHaveProperty('window')
})

test('an order whose outpoints an older version accepted continues without a window', () => {
  const oldFact = orderFact('OutpointAccepted', { attempt: 1, outpoint: outpoint(1) })
  const [watch] = commandsOf('WatchOutpoint', [...openRequestedFacts, ...claimedFacts(1), oldFact])
  expect(watch).toMatchObject({ outpoint: outpoint(1) })
  expect(watch).not.toHaveProperty('seenBefore')
})
