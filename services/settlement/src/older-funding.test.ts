import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, expect, test } from 'vitest'
import { type SettlementMarket, openSettlementMarket } from './market.fixture.ts'
import { SELLER_MSAT } from './samples.fixture.ts'

let market: SettlementMarket
afterEach(() => market.close())

const submitOutpoint = (outpoint: string, heldAtHeight: number) =>
  market.tell('RegisterOutpoint', {
    attempt: 1,
    outpoint,
    sellerAmountMsat: `${SELLER_MSAT}`,
    attestation: null,
    outpointNumber: 1,
    terms: {
      sellerPubkey: market.pubkey('seller-ada'),
      buyerPubkey: market.pubkey('buyer'),
      capacitySat: '1000000',
      isPrivate: false,
      rails: false,
      heldAtHeight,
      requiredConfirmations: 3,
    },
  })

test('a funding that was in the mempool before the payment is refused, and the payment is not settled', async () => {
  market = await openSettlementMarket()
  const { outpoint } = market.control.open('seller-ada', market.pubkey('buyer'), 1_000_000n)
  expect(await market.ports.chain.output(outpoint, 0)).toMatchObject({ height: null })
  // Times are whole milliseconds, and only an earlier one refuses the funding.
  const enteredAt = (await market.ports.chain.enteredMempoolAt(outpoint)) ?? 0
  await waitUntil('a later millisecond', () => market.world.platform.clock.now() > enteredAt)
  await market.issueHold()
  const { data } = await market.payHold()
  await submitOutpoint(outpoint, data.heldAtHeight)
  expect((await market.fact('OutpointRegistrationRefused')).data.reason).toMatch(/^The transaction was in the mempool before/)
  market.control.mine(3)
  await market.tell('SettleHold', { outpoint })
  expect(await market.buyersPayment()).toBe('IN_FLIGHT')
})

test('a funding that enters the mempool after the payment is recorded', async () => {
  market = await openSettlementMarket()
  await market.issueHold()
  const { data } = await market.payHold()
  const { outpoint } = market.control.open('seller-ada', market.pubkey('buyer'), 1_000_000n)
  await submitOutpoint(outpoint, data.heldAtHeight)
  expect((await market.fact('OutpointRegistered')).data.outpoint).toBe(outpoint)
})

test('an older funding is refused although a block made the node forget its age', async () => {
  market = await openSettlementMarket()
  const { outpoint } = market.control.open('seller-ada', market.pubkey('buyer'), 1_000_000n)
  await market.issueHold()
  const { data } = await market.payHold()
  market.control.mine(1)
  await submitOutpoint(outpoint, data.heldAtHeight)
  expect((await market.fact('OutpointRegistrationRefused')).data.reason).toMatch(/soon after the payment was held/)
  market.control.mine(3)
  await market.tell('SettleHold', { outpoint })
  expect(await market.buyersPayment()).toBe('IN_FLIGHT')
})

test('a funding that our node saw after the payment is recorded, although a block has it', async () => {
  market = await openSettlementMarket()
  await market.issueHold()
  const { data } = await market.payHold()
  const { outpoint } = market.control.open('seller-ada', market.pubkey('buyer'), 1_000_000n)
  await market.ports.chain.output(outpoint, 0)
  market.control.mine(1)
  await submitOutpoint(outpoint, data.heldAtHeight)
  expect((await market.fact('OutpointRegistered')).data.outpoint).toBe(outpoint)
})
