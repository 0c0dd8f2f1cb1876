import type { PaymentState } from '@penstock/ports/lightning.ts'
import { expect, test } from 'vitest'
import { findRegtestPayment } from './pay-from-node.ts'
import type { RegtestNode } from './node-role.ts'

const HASH = '0a'.repeat(32)
const SUCCEEDED: PaymentState = { state: 'succeeded', preimage: HASH, feeMsat: 0n }
const FAILED: PaymentState = { state: 'failed', reason: 'no-route' }
const IN_FLIGHT: PaymentState = { state: 'in-flight' }

const answers = <T>(value: T | Error) => (value instanceof Error ? Promise.reject(value) : Promise.resolve(value))
/** A node that answers only payment look-ups and `info`. */
const fakeNode = (found: PaymentState | undefined | Error, info: unknown = {}): RegtestNode =>
  ({ alias: 'ann', lightning: { payments: { find: () => answers(found) }, info: () => answers(info) } }) as unknown as RegtestNode
const silent = fakeNode(new Error('no answer'))

test.each([
  ['succeeded before in flight before failed', [FAILED, IN_FLIGHT, SUCCEEDED], 'SUCCEEDED'],
  ['in flight before failed', [FAILED, IN_FLIGHT, undefined], 'IN_FLIGHT'],
] as const)('of several payments of an invoice, the result is %s', async (_, found, state) => {
  expect(await findRegtestPayment({ nodes: found.map((one) => fakeNode(one)) }, HASH)).toEqual({ state, payment_hash: HASH })
})

test('a failed payment is reported although another node does not answer', async () => {
  const away = fakeNode(IN_FLIGHT, new Error('no answer'))
  for (const nodes of [
    [silent, fakeNode(FAILED)],
    [fakeNode(FAILED), away],
  ])
    expect(await findRegtestPayment({ nodes }, HASH)).toMatchObject({ state: 'FAILED' })
})

test('if no node pays the invoice, the error names the nodes that did not answer', async () => {
  await expect(findRegtestPayment({ nodes: [fakeNode(undefined), silent] }, HASH)).rejects.toThrow(/and ann did not answer/)
  await expect(findRegtestPayment({ nodes: [fakeNode(undefined)] }, HASH)).rejects.toThrow(`Nobody here pays ${HASH}.`)
})
