import { Fault } from '@penstock/kernel/result.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, expect, test } from 'vitest'
import { type SettlementMarket, openSettlementMarket } from './market.fixture.ts'

const OTHER_NODE = `03${'77'.repeat(32)}`

let market: SettlementMarket
afterEach(() => market.close())

/** A market whose node address leads either to its own node, or to another node that has none of its payments. */
async function openWithOtherNode() {
  const address = { isOther: false, asked: 0, rounds: 0, paidElsewhere: 0, cutOff: false }
  const at = (own: Lightning): Lightning => ({
    ...own,
    async info() {
      if (!address.isOther) return own.info()
      address.asked += 1
      return { ...(await own.info()), pubkey: OTHER_NODE }
    },
    holds: {
      ...own.holds,
      find: async (hash) => (address.isOther ? undefined : own.holds.find(hash)),
      settle: async (preimage) => (address.isOther ? 'unknown' : own.holds.settle(preimage)),
      cancel: async (hash) => (address.isOther ? 'unknown' : own.holds.cancel(hash)),
      async held() {
        if (!address.isOther) return own.holds.held()
        address.rounds += 1
        return []
      },
    },
    payments: {
      ...own.payments,
      find: async (hash) => (address.isOther ? undefined : own.payments.find(hash)),
      async pay(request, options) {
        if (address.isOther) address.paidElsewhere += 1
        const paid = await own.payments.pay(request, options)
        if (address.cutOff) throw new Fault('the answer was lost')
        return paid
      },
    },
  })
  market = await openSettlementMarket({}, (ports) => ({ ...ports, lightning: at(ports.lightning) }))
  return address
}

const types = async (): Promise<readonly string[]> => (await market.facts()).map(({ type }) => type)

/** Waits until the effect was tried twice, or this fact is recorded. */
const waitUntilTried = async (address: { readonly asked: number }, done: string): Promise<void> => {
  const { asked } = address
  await waitUntil('it was tried', async () => address.asked >= asked + 2 || (await types()).includes(done))
}

test('a cancellation at another node does not count, and waits for the node that has the payment', async () => {
  const address = await openWithOtherNode()
  await market.issueHold()
  await market.payHold()
  address.isOther = true
  await market.tell('CancelHold', { sentence: 'x' })
  await market.fact('CancelRequested')
  await waitUntilTried(address, 'HoldCancelled')
  expect(await types()).not.toContain('HoldCancelled')
  address.isOther = false
  await market.fact('HoldCancelled')
  expect(await market.buyersPayment()).toBe('FAILED')
})

test('a hold is not settled at another node', async () => {
  const address = await openWithOtherNode()
  await market.issueHold()
  const outpoint = await market.openAndRegister(await market.payHold())
  market.control.mine(3)
  address.isOther = true
  await market.tell('SettleHold', { outpoint })
  await waitUntilTried(address, 'SettlementStarted')
  expect(await types()).not.toContain('SettlementStarted')
  address.isOther = false
  await market.fact('HoldSettled')
})

test('a payout whose answer was lost is not sent again by another node', async () => {
  const address = await openWithOtherNode()
  await market.issueHold()
  const outpoint = await market.openAndRegister(await market.payHold())
  const { payment_hash: paymentHash } = await market.submitPayoutInvoice()
  await market.fact('PayoutInvoiceAccepted')
  market.control.mine(3)
  await market.tell('SettleHold', { outpoint })
  await market.fact('HoldSettled')
  address.cutOff = true
  market.control.mine(3)
  await waitUntil('it was paid', () => market.control.payment(paymentHash)?.state === 'SUCCEEDED')
  address.isOther = true
  await waitUntilTried(address, 'PayoutSucceeded')
  expect(await types()).not.toContain('PayoutSucceeded')
  expect(address.paidElsewhere).toBe(0)
  Object.assign(address, { isOther: false, cutOff: false })
  await market.fact('PayoutSucceeded')
  expect((await types()).filter((type) => type === 'PayoutRequested')).toHaveLength(1)
})

test('if the last height passes at another node, the guard decides only after the order’s node returns', async () => {
  const address = await openWithOtherNode()
  await market.issueHold()
  const held = await market.payHold()
  await market.openAndRegister(held, { rails: true })
  address.isOther = true
  market.control.mine(147 - 24)
  // A round starts only after the previous round has ended.
  for (let block = 0; block < 3; block++) {
    const { rounds } = address
    market.control.mine(1)
    await waitUntil('the guard ran again', () => address.rounds > rounds)
  }
  expect(await types()).not.toContain('CancelRequested')
  address.isOther = false
  market.control.mine(1)
  await market.fact('HoldSettled')
})
