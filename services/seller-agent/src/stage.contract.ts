import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSimnet } from '@penstock/adapters/simnet/simnet.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { type Attestation, attestationText } from '@penstock/bitcoin/attestation.ts'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { recover } from '@penstock/bitcoin/message-signature.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { type Log, openLog } from '@penstock/runtime/log.ts'
import { until } from '@penstock/testkit/until.ts'
import { expect } from 'vitest'
import { MarketRefusal } from './api.ts'
import { followChannels } from './follow.ts'
import { type Journal, openJournal } from './journal.ts'
import type { ListedSale, Market, Standing } from './market.ts'
import { newsOf } from './news.ts'
import { fundingFees, type Pace, pace, type SellerTerms } from './terms.ts'
import { workOnSales } from './work.ts'

export const SIZE = 1_000_000n
const quick: Pace = { ...pace, pollMs: 2, watchMs: 2, firstRetryMs: 2, longestRetryMs: 10 }

export const terms: SellerTerms = {
  totalSizeSat: 100_000_000n,
  minSizeSat: 100_000n,
  maxSizeSat: 10_000_000n,
  minBlockLength: 4320,
  baseFeeSat: 500n,
  feeRatePpm: 2000,
  baseFeeCapSat: 1n,
  feeRateCapPpm: 100,
  autoAccept: true,
}

type Order = {
  status: string
  listed: boolean
  /** Payment hashes of the payout invoices that were given. */
  invoices: string[]
  named: Attestation[]
  refuse: 'funding' | 'cancel' | undefined
  /** Why its payment is on its way back. */
  closing: string | undefined
  /** The last height of the permit. */
  publishUntil: number | undefined
  operatorLoss: Standing['operatorLoss']
  /** How often its standing was asked for. */
  looks: number
  cancels: number
  readonly sale: Omit<ListedSale, 'status'>
}

type Change = {
  readonly lightning?: Lightning
  readonly market?: Market
  readonly journal?: (journal: Journal) => Journal
  readonly pace?: Partial<Pace>
  readonly clock?: Clock
  readonly log?: Log
}

export type Stage = Awaited<ReturnType<typeof openStage>>

/** A simulated network with a seller and a buyer, a market that checks what it is given, and agents on one journal. */
export async function openStage() {
  const dir = mkdtempSync(join(tmpdir(), 'penstock-agent-'))
  const simnet = openSimnet({
    path: join(dir, 'simnet.db'),
    blockSeconds: 0,
    clock: systemClock,
    nodes: [
      { alias: 'ada', role: 'seller', walletSat: 400_000_000n },
      { alias: 'buyer', role: 'buyer', walletSat: 1_000_000n },
      { alias: 'spare', role: 'spare', walletSat: 1_000_000n },
    ],
    topology: [],
  })
  const [ada, buyer] = await Promise.all(['ada', 'buyer'].map((alias) => simnet.lightning(alias).info()))
  if (!ada || !buyer) throw new Error('the stage has two nodes')
  const orders = new Map<string, Order>()
  const openings: string[] = []
  const seller = watched(simnet.lightning('ada'), orders, openings)
  const market = fakeMarket(orders, ada.pubkey, buyer.pubkey)
  const journalPath = join(dir, 'journal.db')
  const agents: (() => Promise<void>)[] = []

  return {
    simnet,
    seller,
    market,
    openings,
    sellerKey: ada.pubkey,
    buyerKey: buyer.pubkey,
    buyerSocket: buyer.uris[0]?.split('@')[1] ?? '',
    place(orderId: string, status = 'WAITING_FOR_CHANNEL_OPEN', leaseBlocks?: number): Order {
      const sockets = buyer.uris.map((uri) => uri.split('@')[1] ?? '')
      const lease = leaseBlocks === undefined ? {} : { leaseBlocks }
      const sale = { orderId, sizeSat: `${SIZE}`, sellerSat: '2500', peer: buyer.pubkey, sockets, isPrivate: false, ...lease }
      const order: Order = {
        status,
        listed: true,
        invoices: [],
        named: [],
        refuse: undefined,
        closing: undefined,
        publishUntil: undefined,
        operatorLoss: undefined,
        looks: 0,
        cancels: 0,
        sale,
      }
      orders.set(orderId, order)
      return order
    },
    /** Starts an agent. @returns what stops it, and its journal */
    start(change: Change = {}) {
      const agent = startAgent(openJournal(journalPath), ada.pubkey, { lightning: seller, market, ...change })
      agents.push(agent.end)
      return agent
    },
    /** Sales that have not ended, as the journal has them when no agent runs. */
    openSales(): number {
      const journal = openJournal(journalPath)
      const { size } = journal.sales
      journal.close()
      return size
    },
    /** Fundings that the node keeps coins back for, and nobody has seen. */
    async leftovers(): Promise<number> {
      const seen = new Set(simnet.control.channels('ada').map(({ outpoint }) => outpoint))
      return (await simnet.lightning('ada').channels.list()).filter(({ outpoint }) => !seen.has(outpoint)).length
    },
    /** Waits for the channel of an order, and lets it confirm. */
    async complete(order: Order): Promise<void> {
      const isPublished = () => simnet.control.channels('ada').some(({ outpoint }) => outpoint === order.named.at(-1)?.outpoint)
      await until('the funding is published', isPublished)
      simnet.control.mine(6)
      order.status = 'VALID_CHANNEL_OPENING'
    },
    async close(): Promise<void> {
      for (const end of agents) await end()
      await simnet.close()
      rmSync(dir, { recursive: true })
    },
  }
}

/** Notes every funding that the node prepares, and that none is published before the market has acknowledged it. */
const watched = (node: Lightning, orders: ReadonlyMap<string, Order>, openings: string[]): Lightning => ({
  ...node,
  channels: {
    ...node.channels,
    prepare: async (request) => {
      const prepared = await node.channels.prepare(request)
      openings.push(prepared.outpoint)
      return prepared
    },
    publish: (funding) => {
      expect([...orders.values()].some(({ named }) => named.at(-1)?.outpoint === funding.outpoint)).toBe(true)
      return node.channels.publish(funding)
    },
  },
})

/** The market's side: checks what it is given as the real one does. */
function fakeMarket(orders: ReadonlyMap<string, Order>, sellerKey: string, buyerKey: string): Market {
  const found = (orderId: string): Order => {
    const order = orders.get(orderId)
    if (!order) throw new MarketRefusal('Order not found')
    return order
  }
  return {
    salesToDo: async () => [...orders.values()].filter(({ listed }) => listed).map(({ sale, status }) => ({ ...sale, status })),
    async standing(orderId) {
      const order = orders.get(orderId)
      if (!order) return undefined
      order.looks += 1
      const { status, closing, publishUntil, operatorLoss } = order
      return { status, closing, publishUntil, operatorLoss }
    },
    async accept(orderId, request) {
      const invoice = decodePaymentRequest(request)
      expect(invoice?.amountMsat).toBe(2_500_000n)
      expect((invoice?.expiresAt ?? 0) - Date.now()).toBeGreaterThan(49 * 3_600_000)
      const { invoices } = found(orderId)
      if (invoices.at(-1) !== invoice?.paymentHash) invoices.push(invoice?.paymentHash ?? '')
    },
    async nameFunding(orderId, attestation) {
      const order = found(orderId)
      const again = order.named.at(-1)?.outpoint === attestation.outpoint
      if (!again && (order.refuse === 'funding' || order.status !== 'WAITING_FOR_CHANNEL_OPEN'))
        throw new MarketRefusal('not now')
      expect(recover(attestationText(attestation), attestation.signature)).toBe(sellerKey)
      expect(attestation).toMatchObject({ capacitySat: SIZE, pushSat: 0n, nodeKeys: [sellerKey, buyerKey] })
      if (!again) order.named.push(attestation)
      Object.assign(order, { status: 'SELLER_SENT_TRANSACTION', listed: false })
      return order.publishUntil
    },
    async cancelUnreachable(orderId) {
      const order = found(orderId)
      order.cancels++
      if (order.refuse === 'cancel') throw new MarketRefusal('not now')
    },
    attest: async () => {},
  }
}

type Parts = Required<Pick<Change, 'lightning' | 'market'>> & Change

function startAgent(
  opened: Journal,
  pubkey: string,
  { lightning, market, journal = (one) => one, pace: other, clock = systemClock, log = openLog('silent') }: Parts,
) {
  const stop = new AbortController()
  const fees = { ...fundingFees, startRate: 2 }
  const tools = { lightning, market, journal: journal(opened), clock, log }
  const desk = { ...tools, pubkey, terms, fees, preparing: new Map<string, string>(), news: newsOf(clock) }
  const paces = { ...quick, ...other }
  const sales = workOnSales(desk, paces, stop.signal).catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error // a journal that cannot be written ends the agent, as a death does in these tests
  })
  const work = Promise.all([sales, followChannels(desk, paces, stop.signal)])
  return {
    journal: opened,
    end: async (): Promise<void> => {
      if (stop.signal.aborted) return
      stop.abort()
      await work
      opened.close()
    },
  }
}
