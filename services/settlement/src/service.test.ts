import { command } from '@penstock/kernel/process.ts'
import assert from 'node:assert/strict'
import { Fault } from '@penstock/kernel/result.ts'
import { proveRefund } from '@penstock/config/refund-proof.ts'
import { verifyLog } from '@penstock/audit/verify.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, describe, expect, test } from 'vitest'
import type { SettlementTarget } from '@penstock/contracts/settlement.ts'
import {
  type SettlementMarket,
  openSettlementMarket,
  shortenSleep,
  FIRST_ORDER,
  GUARD_PAUSE_MS,
  SECOND_ORDER,
} from './market.fixture.ts'
import { sellerInvoice } from './payout/payout-samples.fixture.ts'
import { registeredOutpoint } from './samples.fixture.ts'
import { settlementService } from './service.ts'

let market: SettlementMarket
const open = async (...how: Parameters<typeof openSettlementMarket>): Promise<SettlementMarket> =>
  (market = await openSettlementMarket(...how))
afterEach(() => market.close())

const types = async (orderId = FIRST_ORDER): Promise<readonly string[]> => (await market.facts(orderId)).map(({ type }) => type)
/** Mines to E − 24; the payment was held with 144 + 3 blocks left. */
const mineToLastHeight = (): number => market.control.mine(147 - 24)

test('a purchase is held, opened, proven, settled and paid out', async () => {
  await open()
  await market.issueHold()
  const held = await market.payHold()
  assert.equal(held.data.receivedMsat, '5000000')
  const outpoint = await market.openAndRegister(held)
  await market.submitPayoutInvoice()
  await market.fact('PayoutInvoiceAccepted')
  market.control.mine(3)
  await market.tell('SettleHold', { outpoint })
  const settled = await market.fact('HoldSettled')
  assert.equal(settled.data.confirmations, 3)
  assert.equal(await market.buyersPayment(), 'SUCCEEDED')
  expect(await types()).not.toContain('PayoutRequested')
  market.control.mine(3)
  const paid = await market.fact('PayoutSucceeded')
  assert.equal(market.control.payment(paid.data.paymentHash)?.state, 'SUCCEEDED')
  await waitUntil('the ledger is posted', async () => (await types()).at(-1) === 'LedgerPosted')
  expect(await verifyLog(market.world.store, [settlementService()])).toMatchObject({
    streams: 2,
    divergences: 0,
    ledger_balanced: true,
  })

  const { keyId } = (await market.fact('HoldRequested')).data
  const preimage = market.ports.keyring.preimageOf(keyId, FIRST_ORDER, 1)
  const log = await market.world.store.readAll('start', 1000)
  for (const { data, meta } of log) expect(data + meta).not.toContain(preimage)
})

test("only the payment's preimage, which the payer learns at the settlement, proves an invoice of the buyer", async () => {
  await open()
  await market.issueHold()
  const held = await market.payHold()
  const { paymentHash } = (await market.fact('HoldIssued')).data
  assert.equal(market.control.payment(paymentHash)?.preimage, null)
  const outpoint = await market.openAndRegister(held)
  market.control.mine(3)
  await market.tell('SettleHold', { outpoint })
  await market.fact('HoldSettled')
  const preimage = market.control.payment(paymentHash)?.preimage ?? assert.fail()
  const invoice = (hash: string) => ({ ...sellerInvoice, paymentHash: hash.repeat(32) })
  const give = ({ creditor: _, ...data }: typeof sellerInvoice, key: string) =>
    market.tell('SubmitRefundInvoice', {
      ...data,
      proof: proveRefund(key, { orderId: FIRST_ORDER, request: data.request }),
    })
  await give(invoice('55'), paymentHash)
  await give(invoice('66'), preimage)
  // No amount is owed to the buyer, so the proven invoice is refused by a fact. Commands are executed in their order.
  assert.equal((await market.fact('PayoutInvoiceRefused')).data.paymentHash, '66'.repeat(32))
})

test('an overpayment is posted to its own account', async () => {
  await open()
  await market.issueHold()
  const held = await market.payHold(FIRST_ORDER, 6_000_000n)
  const outpoint = await market.openAndRegister(held)
  market.control.mine(3)
  await market.tell('SettleHold', { outpoint })
  const { data } = await market.fact('LedgerPosted')
  expect(data.entries).toContainEqual({ account: 'overpayment', amountMsat: '-1000000' })
})

test('a re-organisation that moves the funding into the block of the hold is no incident', async () => {
  await open()
  market.control.mine(2)
  await market.issueHold()
  const held = await market.payHold()
  const outpoint = await market.openAndRegister(held)
  market.control.mine(1)
  market.control.reorg(2, { remine: true })
  expect(await market.ports.chain.output(outpoint, 0)).toMatchObject({ height: held.data.heldAtHeight })
  await market.tell('SettleHold', { outpoint })
  expect((await market.fact('HoldSettled')).data.confirmations).toBe(3)
  // After the settlement such a re-organisation is no incident either.
  market.control.mine(3)
  await market.submitPayoutInvoice()
  await market.fact('PayoutSucceeded')
  expect(await types()).not.toContain('IncidentRecorded')
})

test('a transaction from before the payment is refused as a funding', async () => {
  await open()
  await market.issueHold()
  const { outpoint } = market.control.open('seller-ada', market.pubkey('buyer'), 1_000_000n)
  market.control.mine(1)
  const { data } = await market.payHold()
  const agreed = { ...registeredOutpoint.terms, sellerPubkey: market.pubkey('seller-ada'), buyerPubkey: market.pubkey('buyer') }
  await market.tell('RegisterOutpoint', {
    ...registeredOutpoint,
    outpoint,
    terms: { ...agreed, heldAtHeight: data.heldAtHeight },
  })
  expect((await market.fact('OutpointRegistrationRefused')).data.reason).toContain('open a channel for this order')
})

describe('no invoice is created', () => {
  test('for a buyer that cannot be reached', async () => {
    await open()
    market.control.setOnline('buyer', false)
    await market.issueHold()
    expect((await market.fact('HoldRefused')).data.code).toBe('unreachable')
    expect(await types()).toEqual(['HoldRequested', 'HoldRefused'])
  })
  test('at a node that cancels payments before our guard decides', async () => {
    await open({}, (ports) => ({
      ...ports,
      lightning: { ...ports.lightning, info: async () => ({ ...(await ports.lightning.info()), holdExpiryDelta: 24 }) },
    }))
    await market.issueHold()
    expect((await market.fact('HoldRefused')).data.code).toBe('node-too-hasty')
  })
  test('for more than our node can receive', async () => {
    await open()
    await market.issueHold(FIRST_ORDER, { amountMsat: `${10n ** 15n}` })
    expect((await market.fact('HoldRefused')).data.code).toBe('no-inbound')
  })
})

describe('a hold is cancelled', () => {
  test('when the order releases it', async () => {
    await open()
    await market.issueHold()
    await market.payHold()
    await market.tell('CancelHold', { sentence: 'The seller gave up.' })
    expect((await market.fact('HoldCancelled')).data).toMatchObject({
      reason: 'released',
      verdict: null,
      sentence: 'The seller gave up.',
    })
    expect(await market.buyersPayment()).toBe('FAILED')
  })
  test('when its invoice is not paid in time', async () => {
    await open()
    await market.issueHold(FIRST_ORDER, { expirySeconds: 1 })
    expect((await market.fact('HoldCancelled')).data.reason).toBe('expired')
  })
  test('at the last height, if no outpoint was submitted', async () => {
    await open()
    await market.issueHold()
    await market.payHold()
    mineToLastHeight()
    expect((await market.fact('HoldCancelled')).data).toMatchObject({ reason: 'last-height', verdict: 'unnamed' })
    expect(await market.buyersPayment()).toBe('FAILED')
  })
  test('at the last height, if the channel is not the sold channel', async () => {
    await open()
    await market.issueHold()
    await market.openAndRegister(await market.payHold(), { sats: 500_000n })
    mineToLastHeight()
    expect((await market.fact('HoldCancelled')).data).toMatchObject({ reason: 'last-height', verdict: 'wrong' })
  })
  test('if the payment arrives through a peer with too many open payments', async () => {
    await open({ PENSTOCK_HELD_PER_PEER: '1' })
    await market.issueHold()
    await market.payHold()
    await market.issueHold(SECOND_ORDER)
    market.control.pay('buyer', (await market.fact('HoldIssued', SECOND_ORDER)).data.invoice)
    expect((await market.fact('HoldCancelled', SECOND_ORDER)).data.reason).toBe('no-slot')
    expect(await types()).not.toContain('CancelRequested')
  })
})

describe('the guard', () => {
  test('settles a proven channel at the last height despite a parked message', async () => {
    await open()
    await market.issueHold()
    await market.openAndRegister(await market.payHold())
    await market.send(
      {
        ...command<SettlementTarget>('settlement', FIRST_ORDER, { type: 'CancelHold', data: { sentence: 'x' } }),
        command: { type: 'CancelHold', data: {} },
      },
      '00000000-0000-4000-8000-00000000dead',
    )
    await waitUntil('parked', async () => (await market.world.platform.bus.parked()).length === 1)
    mineToLastHeight()
    expect((await market.fact('SettlementStarted')).data.lastHeight).toBe(true)
    await market.fact('HoldSettled')
  })
  test('checks all holds right after a restart', async () => {
    await open()
    await market.issueHold()
    await market.issueHold(SECOND_ORDER)
    await market.payHold()
    await market.fact('HoldIssued', SECOND_ORDER)
    await market.stop()
    mineToLastHeight()
    await market.start()
    expect((await market.fact('HoldCancelled')).data.verdict).toBe('unnamed')
    await market.payHold(SECOND_ORDER)
  })
  test('records a payment that the node cancelled by itself', async () => {
    await open()
    await market.issueHold()
    await market.payHold()
    await market.stop()
    market.control.mine(140)
    expect(await market.buyersPayment()).toBe('FAILED')
    await market.start()
    expect((await market.fact('HoldCancelled')).data).toMatchObject({ reason: 'node', verdict: 'unnamed' })
  })
  test('cancels a hold although another stream cannot be folded', async () => {
    await open()
    await market.issueHold()
    await market.payHold()
    await market.issueHold(SECOND_ORDER)
    await market.fact('HoldIssued', SECOND_ORDER)
    await market.stop()
    const [requested] = await market.world.store.read(`settlement-${SECOND_ORDER}`)
    assert.ok(requested)
    await market.world.store.append(`settlement-${SECOND_ORDER}`, 1, [
      { id: '018f3c1e-0000-7000-8000-00000000ffff', type: 'HoldRequested', data: requested.data, meta: requested.meta },
    ])
    mineToLastHeight()
    await market.start()
    expect((await market.fact('HoldCancelled')).data.verdict).toBe('unnamed')
  })
  test('settles a hold although the evidence of another hold cannot be read', async () => {
    let broken = ''
    await open(
      {},
      (ports) => ({
        ...ports,
        chain: {
          ...ports.chain,
          output: (outpoint, from) =>
            outpoint === broken ? Promise.reject(new Fault('the chain does not answer')) : ports.chain.output(outpoint, from),
        },
      }),
      shortenSleep(GUARD_PAUSE_MS),
    )
    await market.issueHold()
    await market.issueHold(SECOND_ORDER)
    broken = await market.openAndRegister(await market.payHold())
    await market.openAndRegister(await market.payHold(SECOND_ORDER), { orderId: SECOND_ORDER })
    // The guard waits for the evidence only up to E − 18.
    market.control.mine(147 - 18)
    await market.fact('HoldSettled', SECOND_ORDER)
    expect((await market.fact('HoldCancelled')).data).toMatchObject({ reason: 'last-height', verdict: null })
  })
})

describe('after the settlement', () => {
  const settle = async (): Promise<void> => {
    await market.issueHold()
    const outpoint = await market.openAndRegister(await market.payHold())
    market.control.mine(3)
    await market.tell('SettleHold', { outpoint })
    await market.fact('HoldSettled')
  }
  test('a cancellation is refused by a fact', async () => {
    await open()
    await settle()
    await market.tell('CancelHold', { sentence: 'x' })
    await market.fact('CancelRefused')
  })
  test('a re-org is an incident, and an operator decides at the end height if the channel is not announced again', async () => {
    await open()
    await settle()
    const { untilHeight } = (await market.fact('PayoutWithheld')).data
    market.control.reorg(3)
    expect((await market.fact('IncidentRecorded')).data.what).toBe('funding-reorged')
    await market.submitPayoutInvoice()
    await market.fact('PayoutInvoiceAccepted')
    market.control.mine(8)
    const { height } = await market.ports.chain.tip()
    market.control.mine(untilHeight - height)
    await market.decidePayout({ to: 'seller', by: 'ada', reason: 'The channel is there.' })
    await market.fact('PayoutDecided')
    market.control.mine(1)
    await market.fact('PayoutSucceeded')
    const types = (await market.facts()).map(({ type }) => type)
    expect(types.indexOf('PayoutReleased')).toBeGreaterThan(types.indexOf('PayoutDecided'))
  })
  test('a payment hash is paid for one order only', async () => {
    await open()
    await settle()
    const invoice = await market.submitPayoutInvoice(SECOND_ORDER)
    await market.fact('PayoutInvoiceAccepted', SECOND_ORDER)
    await market.submitPayoutInvoice(FIRST_ORDER, invoice)
    expect((await market.fact('PayoutInvoiceRefused')).data.reason).toContain('used for another order')
  })
  test('a payout is made once, despite a restart', async () => {
    await open()
    await settle()
    await market.submitPayoutInvoice()
    await market.fact('PayoutInvoiceAccepted')
    await market.stop()
    market.control.mine(10)
    await market.start()
    await market.fact('PayoutSucceeded')
    expect((await types()).filter((type) => type === 'PayoutRequested')).toHaveLength(1)
  })
})
