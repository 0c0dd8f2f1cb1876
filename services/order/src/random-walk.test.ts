import assert from 'node:assert/strict'
import type { OrderFact } from '@penstock/contracts/order.ts'
import fc from 'fast-check'
import { test } from 'vitest'
import { attemptMachine } from './attempt.machine.ts'
import { orderDecider as decider } from './order.ts'
import { runWalk } from './random-walk.fixture.ts'
import { isFailed, isValid, type Order } from './state.ts'

const tapes = fc.array(fc.nat(0xffff), { maxLength: 120 })

test('any sequence of events leads to at most one live attempt, an end only after the hold, and no open notification', () => {
  fc.assert(
    fc.property(tapes, fc.boolean(), (picks, manual) => {
      const { state, steps } = runWalk(picks, manual)
      assert.ok(isFailed(state) || isValid(state), `the order has not ended: ${JSON.stringify(state)}`)
      assert.deepEqual(steps, [], 'an ended order has no next step')
    }),
    { numRuns: 3000 },
  )
})

/** Walks that lead to each kind of end. A change of the walk's choices needs other walks here. */
const walks: readonly (readonly [Order['status'], boolean, readonly number[]])[] = [
  ['BUYER_FAILED_TO_PAY', false, []],
  ['SELLER_FAILED_TO_REACT', true, []],
  ['BUYER_REJECTED', false, [1024]],
  ['ADMIN_CLOSED', true, [27_753]],
  ['SELLER_REJECTED', true, [53_545]],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', false, [0, 12]],
  ['SELLER_FAILED_TO_SEND_SWAP', false, [34_120, 24_470, 40_463, 4038, 5752, 60_832, 5031, 50_710, 22_970]],
  [
    'INVALID_CHANNEL_OPENING',
    false,
    [5160, 48_653, 53_030, 59_392, 20_391, 7906, 20_151, 44_496, 32_041, 37_495, 24_947, 11_347, 19_874, 10_871, 24_300],
  ],
  [
    'CHANNEL_MONITORING_FINISHED',
    false,
    [15_400, 17_423, 23_972, 12_354, 28_119, 3621, 14_120, 38_643, 21_226, 50_437, 63_960, 20_421, 35_901],
  ],
]

test.each(walks)('a walk ends with the status %s, manual: %s', (status, manual, picks) => {
  const { state, steps } = runWalk(picks, manual)
  assert.equal(state.status, status)
  assert.deepEqual(steps, [])
})

test('facts that were stored as JSON fold to the same state', () => {
  fc.assert(
    fc.property(tapes, (picks) => {
      const { facts, state } = runWalk(picks, false)
      // A store keeps facts as JSON.
      const read = JSON.parse(JSON.stringify(facts)) as readonly OrderFact[]
      assert.deepEqual(read.reduce(decider.evolve, decider.initial), state)
    }),
    { numRuns: 200 },
  )
})

test('every state of the attempt machine is an attempt status', () => {
  for (const status of Object.keys(attemptMachine.states))
    assert.match(status, /^(accepted|opening|named|opened|failed|replaced)$/)
})
