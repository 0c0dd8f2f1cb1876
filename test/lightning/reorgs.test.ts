import { waitUntilActive } from '@penstock/servers/lightning-channels.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LightningPurchase, useLightningEnvironment } from './environment.ts'
import { type ManualLightningSeller, createManualLightningSeller, MANUAL_SELLER_TERMS } from './manual-seller.ts'
import { type ManualMiner, createManualMiner } from './miner.ts'
import { isLightningMissing, runWithoutNode } from './servers.ts'
import { type EndedOrders, createEndedOrders, type FundedSale, createScenarios } from './scenarios.ts'

const DEPTHS = [1, 2, 3, 4, 5, 6]
const PAYOUT_CONFIRMATIONS = 6
const LEASE_BLOCKS = 60
/** Blocks before a payment's expiry height at which the guard settles or cancels it. */
const GUARD = 24
/** Settings for all orders except the first, whose approval window is one second. */
const LONG_TIMEOUTS = { PENSTOCK_APPROVAL_WINDOW_SECONDS: '86400' }

/** Re-organisations replace one to six blocks while orders are in each of the statuses. */
describe.skipIf(isLightningMissing)('re-organisations', () => {
  // Every re-organisation adds a block, so the limits for late fundings are higher than by default.
  const getEnvironment = useLightningEnvironment({
    sellers: ['seller'],
    btcd: true,
    // The buyer's lnd uses a channel after 4 confirmations, because a used channel leaves every graph if it loses its block.
    args: { buyer: ['--bitcoin.defaultchanconfs=4'] },
    env: {
      PENSTOCK_FUNDING_SEEN_BLOCKS: '60',
      PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '60',
      PENSTOCK_REQUIRED_CONFIRMATIONS: '2',
      PENSTOCK_PAYOUT_CONFIRMATIONS: `${PAYOUT_CONFIRMATIONS}`,
      PENSTOCK_LEASE_BLOCKS: `${LEASE_BLOCKS}`,
      PENSTOCK_APPROVAL_WINDOW_SECONDS: '1',
    },
  })
  let seller: ManualLightningSeller
  /** A seller that has to approve each order. */
  let approvingSeller: ManualLightningSeller
  let blocks: ManualMiner
  let scenarios: ReturnType<typeof createScenarios>
  /** Waiting orders by their status, which re-organisations must not change. */
  const waiting = new Map<string, LightningPurchase>()
  /** Ended orders, which must not change. Some of their fundings enter and leave blocks together with the funding of `sold`. */
  let ended: EndedOrders
  let sold: FundedSale
  /** A sale whose funding is in no block or in the newest block. Its status shows that the market has read the tip. */
  let witness: FundedSale
  beforeAll(async () => {
    seller = await createManualLightningSeller(getEnvironment(), 'seller', true)
    approvingSeller = await createManualLightningSeller(getEnvironment(), 'buyer', false, {
      ...MANUAL_SELLER_TERMS,
      autoAccept: false,
    })
    blocks = createManualMiner(getEnvironment().servers)
    scenarios = createScenarios(getEnvironment, { seller, blocks })
    // Buries the market's own channels deeper than any re-organisation, so that they stay in every graph.
    await getEnvironment().servers.mine(6)
    const { key } = await getEnvironment().buy()
    const unanswered = await scenarios.unanswered(key)
    await getEnvironment().waitForStatus(unanswered, 'SELLER_FAILED_TO_REACT')
    await getEnvironment().restartMarket(() => Promise.resolve(), LONG_TIMEOUTS)
    const { orders, rawTransactions } = await createEndedOrders(getEnvironment, { seller, approvingSeller, blocks })
    ended = { orders: new Map([...orders, ['SELLER_FAILED_TO_REACT', unanswered]]), rawTransactions }
  })
  afterAll(async () => {
    await seller.stop()
    await approvingSeller.stop()
  })

  const node = (alias: string) => getEnvironment().servers.node(alias)
  const height = () => getEnvironment().servers.chain.rpc<number>('getblockcount')
  const count = async (purchase: LightningPurchase, fact: string, stream = 'settlement') =>
    (await getEnvironment().readHistory(purchase)).split(`"stream":"${stream}","fact":"${fact}"`).length - 1
  const reorgs = (purchase: LightningPurchase) => count(purchase, 'FundingReorgedRecorded', 'order')
  const invoiceOf = (paymentHash: string) => getEnvironment().lightning('seller').payments.findInvoice(paymentHash)
  /** The raw funding transactions that move from block to block together. */
  const fundings = () => [sold.rawTransaction, ...ended.rawTransactions]

  /** Replaces the block of a funding, and waits until the order records the re-organisation: the market has read the tip. */
  async function reorgFunding({ purchase }: FundedSale, depth: number, transactions: readonly string[] = []): Promise<void> {
    const before = await reorgs(purchase)
    await blocks.replace(depth, transactions)
    await waitForResult(`a re-org of ${depth} is recorded`, async () => (await reorgs(purchase)) === before + 1)
    await expectStillEnded()
  }

  async function confirmFunding(): Promise<void> {
    await blocks.extend(1, fundings())
    await getEnvironment().waitForStatus(sold.purchase, 'ON_CHAIN_CONFIRMATION')
  }

  const expectStillEnded = () => expectUnchanged(ended.orders)
  async function expectUnchanged(orders: ReadonlyMap<string, LightningPurchase>): Promise<void> {
    await Promise.all(
      [...orders].map(async ([status, purchase]) => {
        expect([status, (await getEnvironment().readOrder(purchase)).status]).toEqual([status, status])
        expect([status, await reorgs(purchase)]).toEqual([status, 0])
      }),
    )
  }

  /** Replaces the block of a settled order's funding. The order keeps its status, and the channel records the change. */
  async function reorgSettledFunding(depth: number): Promise<void> {
    const before = await count(sold.purchase, 'FundingReorged', 'channel')
    await blocks.replace(depth)
    await waitForResult(
      `a re-org of ${depth} is recorded`,
      async () => (await count(sold.purchase, 'FundingReorged', 'channel')) === before + 1,
    )
    await getEnvironment().waitForStatus(sold.purchase, 'VALID_CHANNEL_OPENING')
    await expectStillEnded()
  }

  async function confirmSettledFunding(): Promise<void> {
    const before = await count(sold.purchase, 'FundingConfirmed', 'channel')
    await blocks.extend(1, fundings())
    await waitForResult(
      'the funding is confirmed again',
      async () => (await count(sold.purchase, 'FundingConfirmed', 'channel')) === before + 1,
    )
  }

  it('move a confirmed funding to the mempool and into another block, and leave all other orders unchanged', async () => {
    const unpaid = await getEnvironment().buy()
    waiting.set('WAITING_FOR_BUYER_PAYMENT', unpaid)
    waiting.set('WAITING_FOR_SELLER_APPROVAL', await scenarios.unanswered(unpaid.key))
    waiting.set('WAITING_FOR_CHANNEL_OPEN', (await scenarios.held()).purchase)
    waiting.set('SELLER_SENT_TRANSACTION', (await scenarios.named()).purchase)
    sold = await scenarios.published(await scenarios.named())
    witness = await scenarios.published(await scenarios.named())
    for (const { purchase } of [sold, witness])
      await getEnvironment().waitForStatus(purchase, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
    waiting.set('WAITING_FOR_ON_CHAIN_CONFIRMATION', witness.purchase)
    for (const [status, purchase] of waiting) await getEnvironment().waitForStatus(purchase, status)
    await confirmFunding()
    for (const depth of DEPTHS) {
      await reorgFunding(sold, depth)
      await getEnvironment().waitForStatus(sold.purchase, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
      await expectUnchanged(waiting)
      await confirmFunding()
    }
    await expectUnchanged(waiting)
  })

  it('remove the confirmations of an unproven funding, unless its block remains in the chain', async () => {
    await getEnvironment().servers.mine()
    await getEnvironment().waitForStatus(sold.purchase, 'SELLER_OPENED_CHANNEL')
    await getEnvironment().waitForStatus(witness.purchase, 'ON_CHAIN_CONFIRMATION')
    const before = await reorgs(sold.purchase)
    // A depth of one leaves the funding in its block, and changes its confirmations from two to three.
    await reorgFunding(witness, 1)
    for (const depth of [6, 5, 4, 3, 2]) {
      await getEnvironment().waitForStatus(sold.purchase, 'SELLER_OPENED_CHANNEL')
      expect(await reorgs(sold.purchase)).toBe(before + 6 - depth)
      await reorgFunding(sold, depth)
      await getEnvironment().waitForStatus(sold.purchase, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
      await confirmFunding()
      if (depth > 2) await blocks.extend(1)
    }
    // The new branch contains the fundings too, so they are always in a block.
    await reorgFunding(sold, 2, fundings())
    await getEnvironment().waitForStatus(sold.purchase, 'SELLER_OPENED_CHANNEL')
  })

  it('reverse no settlement, and delay the payout while the funding is in no block', async () => {
    await blocks.extend(1)
    await Promise.all(['seller', 'buyer'].map((alias) => waitUntilActive(node(alias), sold.outpoint)))
    await getEnvironment().servers.mine()
    await getEnvironment().waitForStatus(sold.purchase, 'VALID_CHANNEL_OPENING')
    await getEnvironment().waitForPayment(sold.purchase, 'succeeded')
    await getEnvironment().waitForStatus(witness.purchase, 'ON_CHAIN_CONFIRMATION')
    const before = await reorgs(sold.purchase)
    // This re-organisation leaves the funding in its block, and its longer branch makes the payout due.
    await reorgFunding(witness, 1)
    expect(await count(sold.purchase, 'IncidentRecorded')).toBe(0)
    await waitForResult('the payout is due', async () => (await count(sold.purchase, 'PayoutReleased')) === 1)
    await reorgSettledFunding(6)
    await waitForResult('the incident is recorded', async () => (await count(sold.purchase, 'IncidentRecorded')) === 1)
    // The payout is no longer due, so the market does not pay an invoice that the seller submits only now.
    const payout = await seller.submitInvoice(sold.sale)
    for (const depth of [5, 4, 3, 2, 1]) {
      await confirmSettledFunding()
      await reorgSettledFunding(depth)
    }
    expect(await reorgs(sold.purchase)).toBe(before)
    expect([await count(sold.purchase, 'IncidentRecorded'), await count(sold.purchase, 'PayoutRequested')]).toEqual([1, 0])
    expect((await invoiceOf(payout))?.state).toBe('open')
  })

  it('cause one payout for a funding that is buried again, and do not change the order after its end', async () => {
    await confirmSettledFunding()
    await blocks.extend(PAYOUT_CONFIRMATIONS - 1)
    // The seller's node has the payment before the market records it, so the test waits.
    await waitForResult('the payout is recorded', async () => (await count(sold.purchase, 'PayoutSucceeded')) === 1)
    for (const depth of DEPTHS.toReversed()) {
      await reorgSettledFunding(depth)
      await confirmSettledFunding()
    }
    await getEnvironment().servers.mine(LEASE_BLOCKS)
    await getEnvironment().waitForStatus(sold.purchase, 'CHANNEL_MONITORING_FINISHED')
    const history = await getEnvironment().readHistory(sold.purchase)
    witness = await scenarios.published(await scenarios.named())
    for (const depth of DEPTHS) {
      await blocks.extend(1, [witness.rawTransaction])
      await getEnvironment().waitForStatus(witness.purchase, 'ON_CHAIN_CONFIRMATION')
      await reorgFunding(witness, depth)
      expect(await getEnvironment().readHistory(sold.purchase)).toBe(history)
    }
    const facts = ['HoldSettled', 'IncidentRecorded', 'PayoutRequested', 'PayoutSucceeded']
    expect(await Promise.all(facts.map((fact) => count(sold.purchase, fact)))).toEqual([1, 1, 1, 1])
  })

  it('change no hold that was settled or cancelled at the last height, with any content of the new blocks', async () => {
    const settled = await scenarios.published(await scenarios.named())
    const returned = await scenarios.published(await scenarios.named())
    const sales = [settled, returned]
    const raws = sales.map(({ rawTransaction }) => rawTransaction)
    const hashes = await Promise.all(sales.map(({ sale }) => seller.submitInvoice(sale)))
    const states = () => Promise.all(sales.map(async ({ purchase }) => (await holdOf(purchase))?.state))
    const holdOf = ({ paymentHash }: LightningPurchase) => getEnvironment().lightning('market').holds.find(paymentHash)
    const ends = await Promise.all(sales.map(async ({ purchase }) => (await holdOf(purchase))?.htlcs[0]?.expiryHeight ?? 0))
    expect(ends[0]).toBe(ends[1])
    const last = (ends[0] ?? 0) - GUARD
    // A funding that loses its block gets a new deadline. So these fundings may be unconfirmed until the last height.
    for (let remaining = 2; remaining > 0; remaining--) {
      await blocks.extend(40)
      await blocks.extend(1, raws)
      for (const { purchase } of sales) await getEnvironment().waitForStatus(purchase, 'ON_CHAIN_CONFIRMATION')
      await blocks.replace(1)
      for (const { purchase } of sales) await getEnvironment().waitForStatus(purchase, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
    }
    await blocks.extend(last - 4 - (await height()))
    // If the buyer were reachable, the market would require a probe, which fails for a funding with one confirmation.
    await runWithoutNode(getEnvironment().servers, 'buyer', async () => {
      await blocks.extend(2)
      await getEnvironment().mineAndWaitForGuard(() => blocks.extend(1))
      expect(await states()).toEqual(['held', 'held'])
      await blocks.extend(1, [settled.rawTransaction])
      await getEnvironment().waitForStatus(settled.purchase, 'VALID_CHANNEL_OPENING')
      await getEnvironment().waitForStatus(returned.purchase, 'SELLER_FAILED_TO_SEND_SWAP')
    })
    expect(await states()).toEqual(['settled', 'cancelled'])
    // The funding of the settled hold loses its block. The funding of the cancelled hold gets a block before the last height.
    await blocks.replace(2, [returned.rawTransaction])
    await waitForResult('the incident is recorded', async () => (await count(settled.purchase, 'IncidentRecorded')) === 1)
    await waitForResult('the seller is paid', async () => {
      await getEnvironment().servers.mine()
      return (await count(settled.purchase, 'PayoutSucceeded')) === 1
    })
    await getEnvironment().waitForPayment(settled.purchase, 'succeeded')
    await getEnvironment().waitForPayment(returned.purchase, 'failed')
    await getEnvironment().waitForStatus(settled.purchase, 'VALID_CHANNEL_OPENING')
    await getEnvironment().waitForStatus(returned.purchase, 'SELLER_FAILED_TO_SEND_SWAP')
    expect(await states()).toEqual(['settled', 'cancelled'])
    expect(await Promise.all(hashes.map(async (hash) => (await invoiceOf(hash))?.state))).toEqual(['settled', 'open'])
    for (const fact of ['HoldSettled', 'PayoutRequested', 'PayoutSucceeded'])
      expect([fact, await count(settled.purchase, fact), await count(returned.purchase, fact)]).toEqual([fact, 1, 0])
    // The orders of the first test have reached their last heights.
    await waitForResult('no payment is held', async () => (await getEnvironment().lightning('market').holds.held()).length === 0)
  })

  it('have the same effects with blocks from lnd alone', async () => {
    const lndOnly = { ...LONG_TIMEOUTS, PENSTOCK_BITCOIND_URL: '', PENSTOCK_BITCOIND_CERT_FILE: '' }
    await getEnvironment().restartMarket(() => Promise.resolve(), lndOnly)
    sold = await scenarios.published(await scenarios.named())
    ended = { ...ended, rawTransactions: [] }
    await confirmFunding()
    for (const depth of DEPTHS) {
      await reorgFunding(sold, depth)
      await getEnvironment().waitForStatus(sold.purchase, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
      await confirmFunding()
    }
    await blocks.extend(1)
    await getEnvironment().waitForStatus(sold.purchase, 'SELLER_OPENED_CHANNEL')
    await reorgFunding(sold, 2)
    await getEnvironment().waitForStatus(sold.purchase, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
    await confirmFunding()
    await reorgFunding(sold, 2, [sold.rawTransaction])
    await getEnvironment().waitForStatus(sold.purchase, 'SELLER_OPENED_CHANNEL')
    await getEnvironment().mineUntil(sold.purchase, 'VALID_CHANNEL_OPENING')
    await getEnvironment().waitForPayment(sold.purchase, 'succeeded')
    const audit = { divergences: 0, ledger_balanced: true }
    expect(await getEnvironment().product.operator('POST', '/audit/verify', {})).toMatchObject(audit)
  })
})
