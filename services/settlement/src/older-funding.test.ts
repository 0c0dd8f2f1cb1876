import { afterEach, expect, test } from 'vitest'
import { type Market, openMarket } from './market.contract.ts'
import { SELLER_MSAT } from './samples.contract.ts'

let market: Market
afterEach(() => market.close())

const name = (outpoint: string, heldAtHeight: number) =>
  market.tell('NoteOutpoint', {
    attempt: 1,
    outpoint,
    sellerAmountMsat: `${SELLER_MSAT}`,
    attestation: null,
    naming: 1,
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

test('GIVEN a funding that is in the mempool before the payment WHEN it is named for the order THEN no money is taken for it', async () => {
  market = await openMarket()
  const { outpoint } = market.control.open('seller-ada', market.pubkey('buyer'), 1_000_000n)
  expect(await market.ports.chain.output(outpoint, 0)).toMatchObject({ height: null })
  await market.issue()
  const { data } = await market.held()
  await name(outpoint, data.heldAtHeight)
  expect((await market.fact('OutpointNoteRefused')).data.reason).toMatch(/^The transaction was in the mempool before/)
  market.control.mine(3)
  await market.tell('SettleHold', { outpoint })
  expect(await market.buyersPayment()).toBe('IN_FLIGHT')
})

test('a funding that comes into the mempool after the payment is noted', async () => {
  market = await openMarket()
  await market.issue()
  const { data } = await market.held()
  const { outpoint } = market.control.open('seller-ada', market.pubkey('buyer'), 1_000_000n)
  await name(outpoint, data.heldAtHeight)
  expect((await market.fact('OutpointNoted')).data.outpoint).toBe(outpoint)
})
