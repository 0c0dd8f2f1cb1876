import type { PaymentState } from '@penstock/ports/lightning.ts'
import { expect, test } from 'vitest'
import { paymentOf } from './pay.ts'
import type { Person } from './person.ts'

const HASH = '0a'.repeat(32)
const SUCCEEDED: PaymentState = { state: 'succeeded', preimage: HASH, feeMsat: 0n }
const FAILED: PaymentState = { state: 'failed', reason: 'no-route' }
const IN_FLIGHT: PaymentState = { state: 'in-flight' }

const answers = <T>(value: T | Error) => (value instanceof Error ? Promise.reject(value) : Promise.resolve(value))
/** Somebody of whom nothing but this is asked. */
const person = (found: PaymentState | undefined | Error, info: unknown = {}): Person =>
  ({ alias: 'ann', lightning: { payments: { find: () => answers(found) }, info: () => answers(info) } }) as unknown as Person
const silent = person(new Error('no answer'))

test.each([
  ['succeeded before in flight before failed', [FAILED, IN_FLIGHT, SUCCEEDED], 'SUCCEEDED'],
  ['in flight before failed', [FAILED, IN_FLIGHT, undefined], 'IN_FLIGHT'],
] as const)('of several who pay: %s', async (_, found, state) => {
  expect(await paymentOf({ people: found.map((one) => person(one)) }, HASH)).toEqual({ state, payment_hash: HASH })
})

test('a definite answer wins over the silence of another', async () => {
  const away = person(IN_FLIGHT, new Error('no answer'))
  for (const people of [
    [silent, person(FAILED)],
    [person(FAILED), away],
  ])
    expect(await paymentOf({ people }, HASH)).toMatchObject({ state: 'FAILED' })
})

test('who cannot be asked is named where nobody else pays', async () => {
  await expect(paymentOf({ people: [person(undefined), silent] }, HASH)).rejects.toThrow(/and ann cannot be asked now/)
  await expect(paymentOf({ people: [person(undefined)] }, HASH)).rejects.toThrow(`Nobody here pays ${HASH}.`)
})
