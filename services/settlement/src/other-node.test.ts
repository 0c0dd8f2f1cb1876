import { Fault } from '@penstock/kernel/result.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterEach, expect, test } from 'vitest'
import { type Market, openMarket } from './market.contract.ts'

const OTHER_NODE = `03${'77'.repeat(32)}`

let market: Market
afterEach(() => market.close())

/** What is at the address of the market's node: its own, or one that has never heard of anything. */
async function openBeside() {
  const place = { isOther: false, asked: 0, rounds: 0, paidElsewhere: 0, cutOff: false }
  const at = (own: Lightning): Lightning => ({
    ...own,
    async info() {
      if (!place.isOther) return own.info()
      place.asked += 1
      return { ...(await own.info()), pubkey: OTHER_NODE }
    },
    holds: {
      ...own.holds,
      find: async (hash) => (place.isOther ? undefined : own.holds.find(hash)),
      settle: async (preimage) => (place.isOther ? 'unknown' : own.holds.settle(preimage)),
      cancel: async (hash) => (place.isOther ? 'unknown' : own.holds.cancel(hash)),
      async held() {
        if (!place.isOther) return own.holds.held()
        place.rounds += 1
        return []
      },
    },
    payments: {
      ...own.payments,
      find: async (hash) => (place.isOther ? undefined : own.payments.find(hash)),
      async pay(request, options) {
        if (place.isOther) place.paidElsewhere += 1
        const paid = await own.payments.pay(request, options)
        if (place.cutOff) throw new Fault('the answer was lost')
        return paid
      },
    },
  })
  market = await openMarket({}, (ports) => ({ ...ports, lightning: at(ports.lightning) }))
  return place
}

const types = async (): Promise<readonly string[]> => (await market.facts()).map(({ type }) => type)

/** Tried twice in vain, or done. */
const tried = async (place: { readonly asked: number }, done: string): Promise<void> => {
  const { asked } = place
  await until('it was tried', async () => place.asked >= asked + 2 || (await types()).includes(done))
}

test('the silence of another node is no cancellation: it waits for the node that has the payment', async () => {
  const place = await openBeside()
  await market.issue()
  await market.held()
  place.isOther = true
  await market.tell('CancelHold', { sentence: 'x' })
  await market.fact('CancelRequested')
  await tried(place, 'HoldCancelled')
  expect(await types()).not.toContain('HoldCancelled')
  place.isOther = false
  await market.fact('HoldCancelled')
  expect(await market.buyersPayment()).toBe('FAILED')
})

test('nothing is settled at another node', async () => {
  const place = await openBeside()
  await market.issue()
  const outpoint = await market.noted(await market.held())
  market.control.mine(3)
  place.isOther = true
  await market.tell('SettleHold', { outpoint })
  await tried(place, 'SettleRequested')
  expect(await types()).not.toContain('SettleRequested')
  place.isOther = false
  await market.fact('HoldSettled')
})

test('a payout whose answer was lost is not sent again by another node', async () => {
  const place = await openBeside()
  await market.issue()
  const outpoint = await market.noted(await market.held())
  const { payment_hash: paymentHash } = await market.payoutInvoice()
  await market.fact('PayoutInvoiceTaken')
  market.control.mine(3)
  await market.tell('SettleHold', { outpoint })
  await market.fact('HoldSettled')
  place.cutOff = true
  market.control.mine(3)
  await until('it was paid', () => market.control.payment(paymentHash)?.state === 'SUCCEEDED')
  place.isOther = true
  await tried(place, 'PayoutSucceeded')
  expect(await types()).not.toContain('PayoutSucceeded')
  expect(place.paidElsewhere).toBe(0)
  Object.assign(place, { isOther: false, cutOff: false })
  await market.fact('PayoutSucceeded')
  expect((await types()).filter((type) => type === 'PayoutRequested')).toHaveLength(1)
})

test('the last height comes while another node is there: nothing is decided before its own is back', async () => {
  const place = await openBeside()
  await market.issue()
  const held = await market.held()
  await market.noted(held, { rails: true })
  place.isOther = true
  market.control.mine(147 - 24)
  // A round begins when the one before it has ended.
  for (let block = 0; block < 3; block++) {
    const { rounds } = place
    market.control.mine(1)
    await until('the guard came again', () => place.rounds > rounds)
  }
  expect(await types()).not.toContain('CancelRequested')
  place.isOther = false
  market.control.mine(1)
  await market.fact('HoldSettled')
})
