import type { ListedSale } from '@penstock/seller-agent/market-client.ts'
import { waitUntilActive } from '@penstock/servers/lightning-channels.ts'
import { closeChannel } from 'lightning'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDoubleSpend } from './double-spend.ts'
import { type LightningPurchase, useLightningEnvironment } from './environment.ts'
import {
  type ManualLightningSeller,
  createManualLightningSeller,
  createNonChannelTransaction,
  openChannelFrom,
} from './manual-seller.ts'
import { createManualMiner } from './miner.ts'
import { isLightningMissing } from './servers.ts'

type SoldOrder = { readonly purchase: LightningPurchase; readonly sale: ListedSale; readonly outpoint: string }

/** If a seller opens another channel than it sold, the payment is cancelled and the order records the reason. */
describe.skipIf(isLightningMissing)('a channel that differs from the sold channel', () => {
  // More confirmations than lnd needs to use a channel. So a test can close a channel before the market proves it.
  const getEnvironment = useLightningEnvironment({
    sellers: ['seller'],
    buyers: ['other'],
    btcd: true,
    env: { PENSTOCK_REQUIRED_CONFIRMATIONS: '5' },
  })
  let seller: ManualLightningSeller
  beforeAll(async () => {
    seller = await createManualLightningSeller(getEnvironment(), 'seller', true)
  })
  afterAll(() => seller.stop())

  const node = (alias: string) => getEnvironment().servers.node(alias)

  /** Creates an output by `open`, and submits it as the funding of the sold channel. */
  async function sellWith(open: (sat: number) => Promise<string>): Promise<SoldOrder> {
    const purchase = await getEnvironment().buy()
    await getEnvironment().payUntilHeld(purchase)
    const sale = await seller.waitForSale(purchase)
    const outpoint = await open(Number(sale.sizeSat))
    await seller.submitOutpoint(outpoint, sale)
    return { purchase, sale, outpoint }
  }

  async function expectCancelled({ purchase }: SoldOrder, status: string, why: RegExp): Promise<void> {
    await getEnvironment().waitForStatus(purchase, status)
    await getEnvironment().waitForPayment(purchase, 'failed')
    expect((await getEnvironment().lightning('market').holds.find(purchase.paymentHash))?.state).toBe('cancelled')
    expect(await getEnvironment().readHistory(purchase)).toMatch(why)
  }

  const toBuyer = (sat: number) => seller.open({ peer: node('buyer'), sat, isPrivate: true })
  let spent: SoldOrder
  let wrongPeerSale: SoldOrder
  let otherSellersChannel: SoldOrder
  let doubleSpentSale: SoldOrder
  let foreign: SoldOrder

  it('is invalid before its confirmation if it is too small', async () => {
    const small = await sellWith((sat) => toBuyer(sat - 1000))
    await expectCancelled(small, 'INVALID_CHANNEL_OPENING', /sat were sold/)
  })

  it('is invalid before its confirmation if its output pays to a key, while an unknown script may be a channel', async () => {
    const published = (which: 'keyOutpoint' | 'scriptOutpoint') => async (sat: number) => {
      const other = await createNonChannelTransaction(getEnvironment(), sat)
      await getEnvironment().servers.chain.rpc('sendrawtransaction', other.rawTransaction)
      return other[which]
    }
    foreign = await sellWith(published('scriptOutpoint'))
    await expectCancelled(await sellWith(published('keyOutpoint')), 'INVALID_CHANNEL_OPENING', /of type p2wpkh/)
  })

  it('is rejected if the seller attests a push amount or another capacity', async () => {
    const purchase = await getEnvironment().buy()
    await getEnvironment().payUntilHeld(purchase)
    const sale = await seller.waitForSale(purchase)
    const outpoint = `${'ab'.repeat(32)}:0`
    await expect(seller.submitOutpoint(outpoint, sale, { pushSat: 20_000n })).rejects.toThrow(/push_sats must be 0/)
    await expect(seller.submitOutpoint(outpoint, sale, { capacitySat: 20_000n })).rejects.toThrow(/capacity/)
    await getEnvironment().waitForStatus(purchase, 'WAITING_FOR_CHANNEL_OPEN')
  })

  it('loses its confirmation if a re-organisation double-spends its funding', async () => {
    spent = await sellWith(toBuyer)
    wrongPeerSale = await sellWith((sat) => seller.open({ peer: node('other'), sat }))
    // This channel connects two other nodes, and the seller is neither of them.
    otherSellersChannel = await sellWith((sat) => openChannelFrom(node('other'), getEnvironment(), { peer: node('buyer'), sat }))
    const { coin, transaction } = await createDoubleSpend(seller.node)
    doubleSpentSale = await sellWith((sat) => seller.open({ peer: node('buyer'), sat, isPrivate: true, coin }))
    await getEnvironment().waitForStatus(doubleSpentSale.purchase, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
    // Mines exactly one block, because the re-organisation replaces only one block.
    await getEnvironment().servers.mine()
    await getEnvironment().waitForStatus(doubleSpentSale.purchase, 'ON_CHAIN_CONFIRMATION')
    await createManualMiner(getEnvironment().servers).replace(1, [transaction])
    await getEnvironment().waitForStatus(doubleSpentSale.purchase, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
  })

  it('is invalid if it is spent before it is proven', async () => {
    await getEnvironment().servers.mine(3)
    await getEnvironment().waitForStatus(spent.purchase, 'ON_CHAIN_CONFIRMATION')
    const [id = '', vout] = spent.outpoint.split(':')
    await Promise.all([waitUntilActive(node('buyer'), spent.outpoint), waitUntilActive(node('seller'), spent.outpoint)])
    await closeChannel({ lnd: node('seller').lnd, transaction_id: id, transaction_vout: Number(vout) })
    await getEnvironment().servers.mine()
    await expectCancelled(spent, 'INVALID_CHANNEL_OPENING', /spends the output/)
  })

  it('is not proven by a probe if it connects other nodes, and its announcement makes it invalid', async () => {
    await getEnvironment().mineUntil(wrongPeerSale.purchase, 'SELLER_OPENED_CHANNEL', 'INVALID_CHANNEL_OPENING')
    // The watcher checks on every block. So it finds an announcement at the next block after its arrival.
    for (const one of [wrongPeerSale, otherSellersChannel]) {
      await getEnvironment().mineUntil(one.purchase, 'INVALID_CHANNEL_OPENING')
      await expectCancelled(one, 'INVALID_CHANNEL_OPENING', /announced between other nodes/)
    }
    await expectCancelled(doubleSpentSale, 'SELLER_FAILED_TO_SEND_SWAP', /FundingReorgedRecorded/)
    // This output has enough confirmations and no proof, so its order waits for the last height.
    await getEnvironment().waitForStatus(foreign.purchase, 'SELLER_OPENED_CHANNEL')
    expect((await getEnvironment().lightning('market').holds.find(foreign.purchase.paymentHash))?.state).toBe('held')
  })
})
