import { isActive } from '@penstock/servers/lightning-channels.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deal, exchange } from './exchange.ts'
import { type HandSeller, handSeller, TERMS } from './hand-seller.ts'
import { type Miner, miner } from './miner.ts'
import { noLightning, withoutNode } from './servers.ts'
import { type Ended, endings, type Funded, stages } from './stages.ts'

const DEPTHS = [1, 2, 3, 4, 5, 6]
const PAYOUT_CONFIRMATIONS = 6
const LEASE_BLOCKS = 60
/** Blocks before the end of a payment at which it is settled or given back. */
const GUARD = 24
/** After the one order whose seller lets its second go by. */
const PATIENT = { PENSTOCK_APPROVAL_WINDOW_SECONDS: '86400' }

/** The chain takes back one to six blocks while orders are in each of the statuses. */
describe.skipIf(noLightning)('re-organisations', () => {
  // Every one of them brings a block more, and the funding must not be too late by that.
  const here = exchange({
    sellers: ['seller'],
    btcd: true,
    // Later than the market holds a channel for open: one in use falls out of every graph when its funding loses its block.
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
  let seller: HandSeller
  /** It has an offer that sells to nobody unasked. */
  let asked: HandSeller
  let blocks: Miner
  let stage: ReturnType<typeof stages>
  /** Orders that wait, by their status; nothing changes for them. */
  const waiting = new Map<string, Deal>()
  /** What is over stays over, although the fundings of some go into blocks and out of them with that of the sale. */
  let ended: Ended
  let sold: Funded
  /** Its funding is in no block, or in the newest one: what becomes of it shows that the market has looked at the tip. */
  let witness: Funded
  beforeAll(async () => {
    seller = await handSeller(here(), 'seller', true)
    asked = await handSeller(here(), 'buyer', false, { ...TERMS, autoAccept: false })
    blocks = miner(here().servers)
    stage = stages(here, { seller, blocks })
    // A channel in use falls out of every graph when the block of its funding is taken back; those of the market stay.
    await here().servers.mine(6)
    const { key } = await here().deal()
    const unanswered = await stage.unanswered(key)
    await here().reaches(unanswered, 'SELLER_FAILED_TO_REACT')
    await here().restartMarket(() => Promise.resolve(), PATIENT)
    const { orders, raws } = await endings(here, { seller, asked, blocks })
    ended = { orders: new Map([...orders, ['SELLER_FAILED_TO_REACT', unanswered]]), raws }
  })
  afterAll(async () => {
    await seller.stop()
    await asked.stop()
  })

  const node = (alias: string) => here().servers.node(alias)
  const height = () => here().servers.chain.rpc<number>('getblockcount')
  const count = async (deal: Deal, fact: string, stream = 'settlement') =>
    (await here().told(deal)).split(`"stream":"${stream}","fact":"${fact}"`).length - 1
  const reorgs = (deal: Deal) => count(deal, 'FundingReorged', 'order')
  const invoiceOf = (paymentHash: string) => here().lightning('seller').payments.findInvoice(paymentHash)
  /** All that go from block to block together. */
  const fundings = () => [sold.raw, ...ended.raws]

  /** The funding of an order is taken back with its block, and the market says so: it has looked at the tip. */
  async function takesBack({ deal }: Funded, depth: number, transactions: readonly string[] = []): Promise<void> {
    const before = await reorgs(deal)
    await blocks.replace(depth, transactions)
    await until(`a re-org of ${depth} is told`, async () => (await reorgs(deal)) === before + 1)
    await endedStays()
  }

  async function confirms(): Promise<void> {
    await blocks.extend(1, fundings())
    await here().reaches(sold.deal, 'ON_CHAIN_CONFIRMATION')
  }

  const endedStays = () => areUnmoved(ended.orders)
  async function areUnmoved(orders: ReadonlyMap<string, Deal>): Promise<void> {
    await Promise.all(
      [...orders].map(async ([status, deal]) => {
        expect([status, (await here().seen(deal)).status]).toEqual([status, status])
        expect([status, await reorgs(deal)]).toEqual([status, 0])
      }),
    )
  }

  /** The order stays what it is once its payment is settled; the channel's watch tells what becomes of the funding. */
  async function takesBackSettled(depth: number): Promise<void> {
    const before = await count(sold.deal, 'FundingReorged', 'channel')
    await blocks.replace(depth)
    await until(`a re-org of ${depth} is seen`, async () => (await count(sold.deal, 'FundingReorged', 'channel')) === before + 1)
    await here().reaches(sold.deal, 'VALID_CHANNEL_OPENING')
    await endedStays()
  }

  async function confirmsSettled(): Promise<void> {
    const before = await count(sold.deal, 'FundingConfirmed', 'channel')
    await blocks.extend(1, fundings())
    await until('it is confirmed again', async () => (await count(sold.deal, 'FundingConfirmed', 'channel')) === before + 1)
  }

  it('confirmed: back to the mempool, and into another block; who waits for anything else, or is over, stays so', async () => {
    const unpaid = await here().deal()
    waiting.set('WAITING_FOR_BUYER_PAYMENT', unpaid)
    waiting.set('WAITING_FOR_SELLER_APPROVAL', await stage.unanswered(unpaid.key))
    waiting.set('WAITING_FOR_CHANNEL_OPEN', (await stage.held()).deal)
    waiting.set('SELLER_SENT_TRANSACTION', (await stage.named()).deal)
    sold = await stage.published(await stage.named())
    witness = await stage.published(await stage.named())
    for (const { deal } of [sold, witness]) await here().reaches(deal, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
    waiting.set('WAITING_FOR_ON_CHAIN_CONFIRMATION', witness.deal)
    for (const [status, deal] of waiting) await here().reaches(deal, status)
    await confirms()
    for (const depth of DEPTHS) {
      await takesBack(sold, depth)
      await here().reaches(sold.deal, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
      await areUnmoved(waiting)
      await confirms()
    }
    await areUnmoved(waiting)
  })

  it('deep enough and not proven: one that leaves the funding where it is changes nothing, others take it back', async () => {
    await here().servers.mine()
    await here().reaches(sold.deal, 'SELLER_OPENED_CHANNEL')
    await here().reaches(witness.deal, 'ON_CHAIN_CONFIRMATION')
    const before = await reorgs(sold.deal)
    // One block is less than its two: it has three then.
    await takesBack(witness, 1)
    for (const depth of [6, 5, 4, 3, 2]) {
      await here().reaches(sold.deal, 'SELLER_OPENED_CHANNEL')
      expect(await reorgs(sold.deal)).toBe(before + 6 - depth)
      await takesBack(sold, depth)
      await here().reaches(sold.deal, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
      await confirms()
      if (depth > 2) await blocks.extend(1)
    }
    // From block to block, without a moment in which nothing had it.
    await takesBack(sold, 2, fundings())
    await here().reaches(sold.deal, 'SELLER_OPENED_CHANNEL')
  })

  it('settled: nothing is taken back, and no seller is paid for what is in no block', async () => {
    await blocks.extend(1)
    await Promise.all(['seller', 'buyer'].map((alias) => isActive(node(alias), sold.outpoint)))
    await here().servers.mine()
    await here().reaches(sold.deal, 'VALID_CHANNEL_OPENING')
    await here().payment(sold.deal, 'succeeded')
    await here().reaches(witness.deal, 'ON_CHAIN_CONFIRMATION')
    const before = await reorgs(sold.deal)
    // First one that leaves the funding where it is: by its longer branch it is deep enough to be paid for.
    await takesBack(witness, 1)
    expect(await count(sold.deal, 'IncidentNoted')).toBe(0)
    await until('the payout is due', async () => (await count(sold.deal, 'PayoutReleased')) === 1)
    await takesBackSettled(6)
    await until('the incident is told', async () => (await count(sold.deal, 'IncidentNoted')) === 1)
    // Whoever says only now where to pay finds that it is not due any more.
    const payout = await seller.bill(sold.sale)
    for (const depth of [5, 4, 3, 2, 1]) {
      await confirmsSettled()
      await takesBackSettled(depth)
    }
    expect(await reorgs(sold.deal)).toBe(before)
    expect([await count(sold.deal, 'IncidentNoted'), await count(sold.deal, 'PayoutRequested')]).toEqual([1, 0])
    expect((await invoiceOf(payout))?.state).toBe('open')
  })

  it('buried again, it is paid for once, whatever is taken back afterwards, and over in the end', async () => {
    await confirmsSettled()
    await blocks.extend(PAYOUT_CONFIRMATIONS - 1)
    // The seller knows first.
    await until('the market has paid', async () => (await count(sold.deal, 'PayoutSucceeded')) === 1)
    for (const depth of DEPTHS.toReversed()) {
      await takesBackSettled(depth)
      await confirmsSettled()
    }
    await here().servers.mine(LEASE_BLOCKS)
    await here().reaches(sold.deal, 'CHANNEL_MONITORING_FINISHED')
    const told = await here().told(sold.deal)
    witness = await stage.published(await stage.named())
    for (const depth of DEPTHS) {
      await blocks.extend(1, [witness.raw])
      await here().reaches(witness.deal, 'ON_CHAIN_CONFIRMATION')
      await takesBack(witness, depth)
      expect(await here().told(sold.deal)).toBe(told)
    }
    const facts = ['HoldSettled', 'IncidentNoted', 'PayoutRequested', 'PayoutSucceeded']
    expect(await Promise.all(facts.map((fact) => count(sold.deal, fact)))).toEqual([1, 1, 1, 1])
  })

  it('over the last height: what was settled at it or given back stays so, whatever the other blocks show', async () => {
    const settled = await stage.published(await stage.named())
    const returned = await stage.published(await stage.named())
    const both = [settled, returned]
    const raws = both.map(({ raw }) => raw)
    const bills = await Promise.all(both.map(({ sale }) => seller.bill(sale)))
    const states = () => Promise.all(both.map(async ({ deal }) => (await holdOf(deal))?.state))
    const holdOf = ({ paymentHash }: Deal) => here().lightning('market').holds.find(paymentHash)
    const ends = await Promise.all(both.map(async ({ deal }) => (await holdOf(deal))?.htlcs[0]?.expiryHeight ?? 0))
    expect(ends[0]).toBe(ends[1])
    const last = (ends[0] ?? 0) - GUARD
    // A funding that was taken back may take its time again: so it is young at a height that it would not live to see.
    for (let left = 2; left > 0; left--) {
      await blocks.extend(40)
      await blocks.extend(1, raws)
      for (const { deal } of both) await here().reaches(deal, 'ON_CHAIN_CONFIRMATION')
      await blocks.replace(1)
      for (const { deal } of both) await here().reaches(deal, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
    }
    await blocks.extend(last - 4 - (await height()))
    // Of a buyer that can be reached a proof would be asked for, and a funding as young as this has none.
    await withoutNode(here().servers, 'buyer', async () => {
      await blocks.extend(2)
      await here().guarded(() => blocks.extend(1))
      expect(await states()).toEqual(['held', 'held'])
      await blocks.extend(1, [settled.raw])
      await here().reaches(settled.deal, 'VALID_CHANNEL_OPENING')
      await here().reaches(returned.deal, 'SELLER_FAILED_TO_SEND_SWAP')
    })
    expect(await states()).toEqual(['settled', 'cancelled'])
    // The one that was settled loses its only block, and the other is in a block before the last height now.
    await blocks.replace(2, [returned.raw])
    await until('the incident is told', async () => (await count(settled.deal, 'IncidentNoted')) === 1)
    await until('it is paid for', async () => {
      await here().servers.mine()
      return (await count(settled.deal, 'PayoutSucceeded')) === 1
    })
    await here().payment(settled.deal, 'succeeded')
    await here().payment(returned.deal, 'failed')
    await here().reaches(settled.deal, 'VALID_CHANNEL_OPENING')
    await here().reaches(returned.deal, 'SELLER_FAILED_TO_SEND_SWAP')
    expect(await states()).toEqual(['settled', 'cancelled'])
    expect(await Promise.all(bills.map(async (bill) => (await invoiceOf(bill))?.state))).toEqual(['settled', 'open'])
    for (const fact of ['HoldSettled', 'PayoutRequested', 'PayoutSucceeded'])
      expect([fact, await count(settled.deal, fact), await count(returned.deal, fact)]).toEqual([fact, 1, 0])
    // Those that waited in the beginning have come to their own last heights.
    await until('nothing is held', async () => (await here().lightning('market').holds.held()).length === 0)
  })

  it('the same with blocks from lnd alone', async () => {
    const lndAlone = { ...PATIENT, PENSTOCK_BITCOIND_URL: '', PENSTOCK_BITCOIND_CERT_FILE: '' }
    await here().restartMarket(() => Promise.resolve(), lndAlone)
    sold = await stage.published(await stage.named())
    ended = { ...ended, raws: [] }
    await confirms()
    for (const depth of DEPTHS) {
      await takesBack(sold, depth)
      await here().reaches(sold.deal, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
      await confirms()
    }
    await blocks.extend(1)
    await here().reaches(sold.deal, 'SELLER_OPENED_CHANNEL')
    await takesBack(sold, 2)
    await here().reaches(sold.deal, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
    await confirms()
    await takesBack(sold, 2, [sold.raw])
    await here().reaches(sold.deal, 'SELLER_OPENED_CHANNEL')
    await here().mineUntil(sold.deal, 'VALID_CHANNEL_OPENING')
    await here().payment(sold.deal, 'succeeded')
    const audit = { divergences: 0, ledger_balanced: true }
    expect(await here().product.operator('POST', '/audit/verify', {})).toMatchObject(audit)
  })
})
