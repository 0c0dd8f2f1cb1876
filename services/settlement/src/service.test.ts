import assert from 'node:assert/strict'
import { Fault } from '@penstock/kernel/result.ts'
import { audit } from '@penstock/runtime/audit.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterEach, describe, expect, test } from 'vitest'
import { ask } from '@penstock/runtime/service.ts'
import { settlement as contract } from '@penstock/contracts/settlement.ts'
import { type Market, openMarket, ORDER, OTHER } from './market.contract.ts'
import { noted } from './samples.contract.ts'
import { settlementService } from './service.ts'

let market: Market
const open = async (...how: Parameters<typeof openMarket>): Promise<Market> => (market = await openMarket(...how))
afterEach(() => market.close())

const types = async (orderId = ORDER): Promise<readonly string[]> => (await market.facts(orderId)).map(({ type }) => type)
/** E − 24, counted from a payment that was held with 144 + 3 blocks to go. */
const mineToLastHeight = (): number => market.control.mine(147 - 24)

test('held, opened, proven, settled, paid out', async () => {
  await open()
  await market.issue()
  const held = await market.held()
  assert.equal(held.data.receivedMsat, '5000000')
  const outpoint = await market.noted(held)
  await market.payoutInvoice()
  await market.fact('PayoutInvoiceTaken')
  market.control.mine(3)
  await market.tell('SettleHold', { outpoint })
  const settled = await market.fact('HoldSettled')
  assert.equal(settled.data.confirmations, 3)
  assert.equal(await market.buyersPayment(), 'SUCCEEDED')
  expect(await types()).not.toContain('PayoutRequested')
  market.control.mine(3)
  const paid = await market.fact('PayoutSucceeded')
  assert.equal(market.control.payment(paid.data.paymentHash)?.state, 'SUCCEEDED')
  await until('nothing is left to do', async () => (await types()).at(-1) === 'LedgerPosted')
  expect(await audit(market.world.store, [settlementService()])).toMatchObject({
    streams: 2,
    divergences: 0,
    ledger_balanced: true,
  })

  const { keyId } = (await market.fact('HoldRequested')).data
  const preimage = market.ports.keyring.preimageOf(keyId, ORDER, 1)
  const log = await market.world.store.readAll('start', 1000)
  for (const { data, meta } of log) expect(data + meta).not.toContain(preimage)
})

test('an overpayment is kept apart', async () => {
  await open()
  await market.issue()
  const held = await market.held(ORDER, 6_000_000n)
  const outpoint = await market.noted(held)
  market.control.mine(3)
  await market.tell('SettleHold', { outpoint })
  const { data } = await market.fact('LedgerPosted')
  expect(data.entries).toContainEqual({ account: 'overpayment', amountMsat: '-1000000' })
})

test('a re-organisation that puts the funding into the block of the hold accuses nobody', async () => {
  await open()
  market.control.mine(2)
  await market.issue()
  const held = await market.held()
  const outpoint = await market.noted(held)
  market.control.mine(1)
  market.control.reorg(2, { remine: true })
  expect(await market.ports.chain.output(outpoint, 0)).toMatchObject({ height: held.data.heldAtHeight })
  await market.tell('SettleHold', { outpoint })
  expect((await market.fact('HoldSettled')).data.confirmations).toBe(3)
  // After settling it is no breach either.
  market.control.mine(3)
  await market.payoutInvoice()
  await market.fact('PayoutSucceeded')
  expect(await types()).not.toContain('IncidentNoted')
})

test('a transaction from before the payment cannot be named', async () => {
  await open()
  await market.issue()
  const { outpoint } = market.control.open('seller-ada', market.pubkey('buyer'), 1_000_000n)
  market.control.mine(1)
  const { data } = await market.held()
  const agreed = { ...noted.terms, sellerPubkey: market.pubkey('seller-ada'), buyerPubkey: market.pubkey('buyer') }
  await market.tell('NoteOutpoint', { ...noted, outpoint, terms: { ...agreed, heldAtHeight: data.heldAtHeight } })
  expect((await market.fact('OutpointNoteRefused')).data.reason).toContain('open a channel for this order')
})

describe('no invoice', () => {
  test('for a buyer that nobody reaches', async () => {
    await open()
    market.control.setOnline('buyer', false)
    await market.issue()
    expect((await market.fact('HoldRefused')).data.code).toBe('unreachable')
    expect(await types()).toEqual(['HoldRequested', 'HoldRefused'])
  })
  test('at a node that gives payments back before our guard comes', async () => {
    await open({}, (ports) => ({
      ...ports,
      lightning: { ...ports.lightning, info: async () => ({ ...(await ports.lightning.info()), holdExpiryDelta: 24 }) },
    }))
    await market.issue()
    expect((await market.fact('HoldRefused')).data.code).toBe('node-too-hasty')
  })
  test('beyond what our node can receive', async () => {
    await open()
    await market.issue(ORDER, { amountMsat: `${10n ** 15n}` })
    expect((await market.fact('HoldRefused')).data.code).toBe('no-inbound')
  })
})

describe('the money comes back', () => {
  test('when the order releases it', async () => {
    await open()
    await market.issue()
    await market.held()
    await market.tell('CancelHold', { sentence: 'The seller gave up.' })
    expect((await market.fact('HoldCancelled')).data).toMatchObject({
      reason: 'released',
      verdict: null,
      sentence: 'The seller gave up.',
    })
    expect(await market.buyersPayment()).toBe('FAILED')
  })
  test('when nobody pays in time', async () => {
    await open()
    await market.issue(ORDER, { expirySeconds: 1 })
    expect((await market.fact('HoldCancelled')).data.reason).toBe('expired')
  })
  test('at the last height, when nothing was named', async () => {
    await open()
    await market.issue()
    await market.held()
    mineToLastHeight()
    expect((await market.fact('HoldCancelled')).data).toMatchObject({ reason: 'last-height', verdict: 'unnamed' })
    expect(await market.buyersPayment()).toBe('FAILED')
  })
  test('at the last height, when the channel is not as sold', async () => {
    await open()
    await market.issue()
    await market.noted(await market.held(), { sats: 500_000n })
    mineToLastHeight()
    expect((await market.fact('HoldCancelled')).data).toMatchObject({ reason: 'last-height', verdict: 'wrong' })
  })
  test('through a peer that holds too much already', async () => {
    await open({ PENSTOCK_HELD_PER_PEER: '1' })
    await market.issue()
    await market.held()
    await market.issue(OTHER)
    market.control.pay('buyer', (await market.fact('HoldIssued', OTHER)).data.invoice)
    expect((await market.fact('HoldCancelled', OTHER)).data.reason).toBe('no-slot')
    expect(await types()).not.toContain('CancelRequested')
  })
})

describe('the guard needs nobody', () => {
  test('a parked message does not stop it: it settles what is proven at the last height', async () => {
    await open()
    await market.issue()
    await market.noted(await market.held())
    await market.send(
      { ...ask(contract, ORDER, 'CancelHold', { sentence: 'x' }), command: { type: 'CancelHold', data: {} } },
      '00000000-0000-4000-8000-00000000dead',
    )
    await until('parked', async () => (await market.world.platform.bus.parked()).length === 1)
    mineToLastHeight()
    expect((await market.fact('SettleRequested')).data.lastHeight).toBe(true)
    await market.fact('HoldSettled')
  })
  test('after a stop it looks at once, whatever happened meanwhile', async () => {
    await open()
    await market.issue()
    await market.issue(OTHER)
    await market.held()
    await market.fact('HoldIssued', OTHER)
    await market.stop()
    mineToLastHeight()
    await market.start()
    expect((await market.fact('HoldCancelled')).data.verdict).toBe('unnamed')
    await market.held(OTHER)
  })
  test('what the node gave back by itself is recorded', async () => {
    await open()
    await market.issue()
    await market.held()
    await market.stop()
    market.control.mine(140)
    expect(await market.buyersPayment()).toBe('FAILED')
    await market.start()
    expect((await market.fact('HoldCancelled')).data).toMatchObject({ reason: 'node', verdict: 'unnamed' })
  })
  test('a stream that cannot be folded does not hold up another', async () => {
    await open()
    await market.issue()
    await market.held()
    await market.issue(OTHER)
    await market.fact('HoldIssued', OTHER)
    await market.stop()
    const [begun] = await market.world.store.read(`settlement-${OTHER}`)
    assert.ok(begun)
    await market.world.store.append(`settlement-${OTHER}`, 1, [
      { id: '018f3c1e-0000-7000-8000-00000000ffff', type: 'HoldRequested', data: begun.data, meta: begun.meta },
    ])
    mineToLastHeight()
    await market.start()
    expect((await market.fact('HoldCancelled')).data.verdict).toBe('unnamed')
  })
  test('one hold that cannot be looked at does not hold up another', async () => {
    let broken = ''
    await open({}, (ports) => ({
      ...ports,
      chain: {
        ...ports.chain,
        output: (outpoint, from) =>
          outpoint === broken ? Promise.reject(new Fault('the chain has a cold')) : ports.chain.output(outpoint, from),
      },
    }))
    await market.issue()
    await market.issue(OTHER)
    broken = await market.noted(await market.held())
    await market.noted(await market.held(OTHER), { orderId: OTHER })
    // It is waited for up to E − 18, and no longer.
    market.control.mine(147 - 18)
    await market.fact('HoldSettled', OTHER)
    expect((await market.fact('HoldCancelled')).data).toMatchObject({ reason: 'last-height', verdict: null })
  })
})

describe('after settling', () => {
  const settle = async (): Promise<void> => {
    await market.issue()
    const outpoint = await market.noted(await market.held())
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
  test('a re-org is an incident; buried again the channel is announced no more, and an operator decides at the end', async () => {
    await open()
    await settle()
    const { untilHeight } = (await market.fact('PayoutWithheld')).data
    market.control.reorg(3)
    expect((await market.fact('IncidentNoted')).data.what).toBe('funding-reorged')
    await market.payoutInvoice()
    await market.fact('PayoutInvoiceTaken')
    market.control.mine(8)
    const { height } = await market.ports.chain.tip()
    market.control.mine(untilHeight - height)
    await market.tell('DecidePayout', { to: 'seller', by: 'ada', reason: 'The channel is there.' })
    await market.fact('PayoutDecided')
    market.control.mine(1)
    await market.fact('PayoutSucceeded')
    const types = (await market.facts()).map(({ type }) => type)
    expect(types.indexOf('PayoutReleased')).toBeGreaterThan(types.indexOf('PayoutDecided'))
  })
  test('a payment hash is paid for one order', async () => {
    await open()
    await settle()
    const invoice = await market.payoutInvoice(OTHER)
    await market.fact('PayoutInvoiceTaken', OTHER)
    await market.payoutInvoice(ORDER, invoice)
    expect((await market.fact('PayoutInvoiceRefused')).data.reason).toContain('used for another order')
  })
  test('a payout survives a stop, and is made once', async () => {
    await open()
    await settle()
    await market.payoutInvoice()
    await market.fact('PayoutInvoiceTaken')
    await market.stop()
    market.control.mine(10)
    await market.start()
    await market.fact('PayoutSucceeded')
    expect((await types()).filter((type) => type === 'PayoutRequested')).toHaveLength(1)
  })
})
