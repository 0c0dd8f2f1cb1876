import { DatabaseSync } from 'node:sqlite'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import { parseConnectionUri } from '@penstock/bitcoin/pubkey.ts'
import { scriptKind } from '@penstock/bitcoin/script.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type TemporaryNetwork, openTemporaryNetwork } from './temporary-network.ts'

let now = 1_790_000_000_000
const clock = { now: () => now, monotonicMs: () => now, sleep: async () => {} }
const preimage = '11'.repeat(32)
const paymentHash = paymentHashOf(preimage)

let network: TemporaryNetwork
beforeEach(() => {
  network = openTemporaryNetwork({ clock })
})
afterEach(() => network.drop())

const control = () => network.simnet().control
const market = () => network.simnet().lightning('market')
const chain = () => network.simnet().chain()
const pubkey = (alias: string): string =>
  control()
    .nodes()
    .find((node) => node.alias === alias)?.pubkey ?? ''
const hold = (amountMsat = 5_000_000n, expirySeconds = 3600) =>
  market().holds.create({ paymentHash, amountMsat, cltvDelta: 144, expirySeconds, description: 'an order' })
const openPublic = (sats = 1_000_000n): string => control().open('seller-ada', pubkey('buyer'), sats).outpoint

describe('the topology', () => {
  test('has a market, buyers, sellers with coins, and a spare node', () => {
    const roles = control()
      .nodes()
      .map(({ role }) => role)
    expect(roles.filter((role) => role === 'seller').length).toBeGreaterThanOrEqual(4)
    for (const role of ['market', 'buyer', 'spare'] as const) expect(roles).toContain(role)
    for (const { uri, pubkey: key } of control().nodes()) expect(parseConnectionUri(uri)?.pubkey).toBe(key)
  })

  test('lets every seller receive a payment, and every buyer send one', async () => {
    const nodesWith = (...roles: string[]) =>
      control()
        .nodes()
        .filter(({ role }) => roles.includes(role))
    for (const { alias } of nodesWith('buyer'))
      expect(control().pay(alias, control().invoice('market', 5000n, 60).invoice).state).toBe('SUCCEEDED')
    for (const { alias } of nodesWith('seller', 'spare')) {
      const { invoice } = control().invoice(alias, 5000n, 60)
      expect(await market().payments.pay(invoice, { maxFeeMsat: 0n, timeoutMs: 0 })).toMatchObject({ state: 'succeeded' })
    }
  })

  test('lets a seller open a hundred channels before the next block', () => {
    for (let count = 0; count < 100; count++) openPublic(2_000_000n)
    control().mine(3)
    expect(
      control()
        .channels('buyer')
        .filter(({ peer }) => peer === pubkey('seller-ada')),
    ).toHaveLength(100)
  })
})

describe('payments', () => {
  test('an invoice is signed by the node that created it', async () => {
    expect(decodePaymentRequest((await hold()).request)).toMatchObject({
      network: 'regtest',
      payee: pubkey('market'),
      paymentHash,
      cltvDelta: 144,
      expiresAt: now + 3_600_000,
      amountMsat: 5_000_000n,
    })
  })

  test.each([
    [100n, 'IN_FLIGHT'],
    [200n, 'IN_FLIGHT'],
    [300n, 'IN_FLIGHT'],
    [99n, 'FAILED'],
  ])('a payment of %s percent of the amount is %s', async (percent, state) => {
    const { request, amountMsat } = await hold()
    const sentMsat = (amountMsat * percent) / 100n
    expect(control().pay('buyer', request, { amountMsat: sentMsat })).toEqual({ state, payment_hash: paymentHash })
    const invoice = await market().holds.find(paymentHash)
    expect(invoice?.state).toBe(state === 'FAILED' ? 'open' : 'held')
    const htlc = {
      amountMsat: sentMsat,
      expiryHeight: (await chain().tip()).height + 147,
      peer: pubkey('buyer'),
      state: 'held',
      acceptedAt: invoice?.htlcs[0]?.acceptedAt,
    }
    expect(invoice?.htlcs).toEqual(state === 'FAILED' ? [] : [htlc])
  })

  test('a payment over two hops pays the fee of the node between them', async () => {
    const { invoice, payment_hash: hash } = control().invoice('seller-ada', 100_000n, 60)
    expect(await network.simnet().lightning('buyer').payments.pay(invoice, { maxFeeMsat: 1100n, timeoutMs: 0 })).toMatchObject({
      state: 'succeeded',
      feeMsat: 1100n,
    })
    expect(control().payment(hash)).toMatchObject({ state: 'SUCCEEDED', payee: pubkey('seller-ada') })
  })

  test('an unpaid invoice is cancelled at its expiry, and a held invoice is not', async () => {
    const { request } = await hold()
    control().pay('buyer', request)
    const ordinary = control().invoice('seller-ada', 10n, 60)
    now += 4_000_000
    control().mine(1)
    expect(control().invoiceStatus('seller-ada', ordinary.payment_hash)).toEqual({ state: 'CANCELED' })
    expect((await market().holds.find(paymentHash))?.state).toBe('held')
    expect(await market().payments.pay(ordinary.invoice, { maxFeeMsat: 0n, timeoutMs: 0 })).toEqual({
      state: 'failed',
      reason: 'invoice-expired',
    })
    expect(await market().holds.settle(preimage)).toBe('settled')
  })

  test('a held invoice accepts no second payer', async () => {
    const { request } = await hold()
    expect(control().pay('buyer', request).state).toBe('IN_FLIGHT')
    expect(control().pay('buyer-2', request).state).toBe('FAILED')
    expect(control().pay('buyer', request).state).toBe('IN_FLIGHT')
    await market().holds.settle(preimage)
    expect(control().payment(paymentHash)).toEqual({ state: 'SUCCEEDED', payee: pubkey('market'), preimage })
  })

  test('a node that was offline at the expiry of a hold settles the invoice after the payer was refunded', async () => {
    const { request } = await hold()
    const before = control().balances()
    control().pay('buyer', request)
    control().setOnline('market', false)
    control().mine(147 - 1)
    expect(control().payment(paymentHash)?.state).toBe('IN_FLIGHT')
    control().mine(1)
    expect(control().payment(paymentHash)?.state).toBe('FAILED')
    expect(control().balances()).toEqual(before)
    control().setOnline('market', true)
    const status = control().invoiceStatus('market', paymentHash)
    expect(status).toEqual({ state: 'ACCEPTED' })
    expect((await market().holds.held()).map((invoice) => invoice.paymentHash)).toEqual([paymentHash])
    expect(await market().holds.settle(preimage)).toBe('settled')
    expect(await market().holds.find(paymentHash)).toMatchObject({ state: 'settled', htlcs: [{ state: 'settled' }] })
    expect(control().payment(paymentHash)?.state).toBe('FAILED')
    expect(control().balances()).toEqual(before)
  })

  test('a hold is cancelled twelve blocks before its expiry, and not a block earlier', async () => {
    const before = control().balances()
    const { request } = await hold()
    control().pay('buyer', request)
    control().mine(147 - 12 - 1)
    expect((await market().holds.find(paymentHash))?.state).toBe('held')
    control().mine(1)
    expect(await market().holds.find(paymentHash)).toMatchObject({ state: 'cancelled', htlcs: [{ state: 'cancelled' }] })
    expect(await market().holds.settle(preimage)).toBe('cancelled')
    expect(control().payment(paymentHash)?.state).toBe('FAILED')
    expect(control().balances()).toEqual(before)
  })
})

describe('the chain', () => {
  test('a re-organisation returns a funding to the mempool, and the next block contains it again', async () => {
    const outpoint = openPublic()
    control().mine(2)
    const old = await chain().tip()
    expect(control().reorg(2)).toBe(old.height + 1)
    expect(await chain().output(outpoint, 0)).toMatchObject({ height: null, txIndex: null })
    expect(
      (await network.simnet().lightning('buyer').channels.list()).find((channel) => channel.outpoint === outpoint),
    ).toMatchObject({ state: 'pending', shortChannelId: null })
    control().mine(1)
    expect(await chain().output(outpoint, 0)).toMatchObject({ height: old.height + 2 })
  })

  test('a re-organisation with the same transactions may move a funding to a lower block', async () => {
    const outpoint = openPublic()
    control().mine(2)
    const { height } = await chain().tip()
    expect(await chain().output(outpoint, 0)).toMatchObject({ height: height - 1 })
    expect(control().reorg(2, { remine: true })).toBe(height + 1)
    expect(await chain().output(outpoint, 0)).toMatchObject({ height: height - 1 })
    const later = openPublic()
    control().mine(1)
    control().reorg(3, { remine: true })
    expect(await chain().output(later, 0)).toMatchObject({ height })
  })

  test('a re-organisation cannot replace the blocks of the topology', () => {
    expect(() => control().reorg(1)).toThrow(RangeError)
    control().mine(2)
    expect(() => control().reorg(3)).toThrow(RangeError)
  })

  test('a double-spend removes the funding and its channel', async () => {
    const outpoint = openPublic()
    control().mine(1)
    control().reorg(1)
    control().doubleSpend(outpoint.split(':')[0] ?? '')
    control().mine(1)
    expect(await chain().output(outpoint, 0)).toBeUndefined()
    expect(
      control()
        .channels('buyer')
        .some((channel) => channel.outpoint === outpoint),
    ).toBe(false)
  })

  test('a close appears in the mempool and then in a block, after which the channel is in no list', async () => {
    const outpoint = openPublic()
    control().mine(6)
    const { txid } = control().close(outpoint)
    expect((await chain().output(outpoint, 0))?.spentBy).toEqual({ txid, height: null })
    const channels = network.simnet().lightning('buyer').channels
    expect((await channels.list()).find((channel) => channel.outpoint === outpoint)?.state).toBe('closing')
    control().mine(1)
    expect((await chain().output(outpoint, 0))?.spentBy).toEqual({ txid, height: (await chain().tip()).height })
    expect((await channels.list()).some((channel) => channel.outpoint === outpoint)).toBe(false)
    expect(await market().graph.channel(outpoint)).toBeUndefined()
    expect(() => control().close(outpoint)).toThrow(/no open channel/)
  })

  test('a channel whose peer is offline can only be closed by force', () => {
    const outpoint = openPublic()
    control().mine(3)
    control().setOnline('buyer', false)
    expect(() => control().close(outpoint)).toThrow(/offline/)
    expect(control().close(outpoint, { force: true }).txid).toMatch(/^[0-9a-f]{64}$/)
  })

  test('a funding below the fee floor stays unconfirmed until a child pays for it', async () => {
    control().feeFloor(10)
    const outpoint = openPublic()
    control().mine(3)
    expect((await chain().output(outpoint, 0))?.height).toBeNull()
    expect(await chain().feeRate(6)).toBe(10)
    await network.simnet().lightning('seller-ada').channels.bumpFee(outpoint, 12, 50)
    control().mine(1)
    expect((await chain().output(outpoint, 0))?.height).toBe((await chain().tip()).height)
  })

  test('a funding output is P2WSH, and its position matches the short channel id', async () => {
    const outpoint = openPublic()
    control().mine(3)
    const output = await chain().output(outpoint, 0)
    expect(scriptKind(output?.script ?? '')).toBe('p2wsh')
    const own = (await network.simnet().lightning('seller-ada').channels.list()).find((channel) => channel.outpoint === outpoint)
    expect(own?.shortChannelId).toBe(`${output?.height}x${output?.txIndex}x${outpoint.split(':')[1]}`)
  })

  test('the funding output of a taproot channel is P2TR, even after a restart, and one signature spends it', async () => {
    const { outpoint: taproot } = control().open('seller-ada', pubkey('buyer'), 1_000_000n, { isPrivate: true, isTaproot: true })
    const other = openPublic()
    control().mine(3)
    await network.reopen()
    expect(scriptKind((await chain().output(taproot, 0))?.script ?? '')).toBe('p2tr')
    const own = (await network.simnet().lightning('seller-ada').channels.list()).find(({ outpoint }) => outpoint === taproot)
    expect(own).toMatchObject({ state: 'active', channelType: 'simplified_taproot', isPrivate: true })
    const db = new DatabaseSync(network.path, { readOnly: true })
    const sizeOf = (txid: string) => db.prepare('SELECT vsize FROM txs WHERE txid = ?').get(txid)?.['vsize']
    expect([other, taproot].map((outpoint) => sizeOf(control().close(outpoint).txid))).toEqual([168, 129])
    db.close()
    control().mine(1)
    expect((await chain().output(taproot, 0))?.spentBy?.height).toBe((await chain().tip()).height)
  })
})
