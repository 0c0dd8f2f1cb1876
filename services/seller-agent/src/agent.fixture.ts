import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSimnet } from '@penstock/adapters/simnet/simnet.ts'
import { systemChance } from '@penstock/adapters/system/chance.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { type ChannelAttestation, formatChannelAttestation } from '@penstock/bitcoin/attestation.ts'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { recoverPubkey } from '@penstock/bitcoin/message-signature.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { type Logger, openLogger } from '@penstock/runtime/observability/log.ts'
import { createSkippableClock } from '@penstock/testkit/skippable-clock.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { expect } from 'vitest'
import { MarketRefusal } from './api.ts'
import { followChannels } from './follow-channels.ts'
import { type Journal, openJournal } from './journal.ts'
import type { ListedSale, MarketClient, OrderSummary } from './market-client.ts'
import { createWakeUps } from './wake-up.ts'
import { defaultFundingFeeSettings, type AgentTimings, defaultTimings, type SellerTerms } from './terms.ts'
import { runSaleWorker } from './worker.ts'

export const SIZE_SAT = 1_000_000n
const fastTimings: AgentTimings = {
  ...defaultTimings,
  pollMs: 2,
  quietPollMs: 2,
  watchMs: 2,
  firstRetryMs: 2,
  longestRetryMs: 10,
}

export const sellerTerms: SellerTerms = {
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

type FixtureOrder = {
  status: string
  listed: boolean
  /** Payment hashes of the submitted payout invoices. */
  invoices: string[]
  submissions: ChannelAttestation[]
  refuse: 'funding' | 'cancel' | undefined
  /** The reason for which the order is closing. */
  closing: string | undefined
  /** The last height at which the funding may be published. */
  publishUntil: number | undefined
  operatorLoss: OrderSummary['operatorLoss']
  /** How often the agent has read the order. */
  readCount: number
  cancelCount: number
  readonly sale: Omit<ListedSale, 'status'>
}

type AgentOverrides = {
  readonly lightning?: Lightning
  readonly market?: MarketClient
  readonly journal?: (journal: Journal) => Journal
  readonly timings?: Partial<AgentTimings>
  readonly clock?: Clock
  readonly log?: Logger
}

export type AgentFixture = Awaited<ReturnType<typeof openAgentFixture>>

/** A simulated network with a seller and a buyer, a fake market that checks its calls, and agents on one journal. */
export async function openAgentFixture() {
  const dir = mkdtempSync(join(tmpdir(), 'penstock-agent-'))
  const networkClock = createSkippableClock()
  const simnet = openSimnet({
    path: join(dir, 'simnet.db'),
    blockSeconds: 0,
    clock: networkClock,
    nodes: [
      { alias: 'ada', role: 'seller', walletSat: 400_000_000n },
      { alias: 'buyer', role: 'buyer', walletSat: 1_000_000n },
      { alias: 'spare', role: 'spare', walletSat: 1_000_000n },
    ],
    topology: [],
  })
  const [ada, buyer] = await Promise.all(['ada', 'buyer'].map((alias) => simnet.lightning(alias).info()))
  if (!ada || !buyer) throw new Error('the fixture needs two nodes')
  const orders = new Map<string, FixtureOrder>()
  const openings: string[] = []
  const seller = checkPublications(simnet.lightning('ada'), orders, openings)
  const market = createFakeMarket(orders, ada.pubkey, buyer.pubkey)
  const journalPath = join(dir, 'journal.db')
  const agents: (() => Promise<void>)[] = []

  return {
    simnet,
    /** Sets the network's clock ahead. */
    skipNetworkTime: networkClock.skip,
    seller,
    market,
    openings,
    sellerKey: ada.pubkey,
    buyerKey: buyer.pubkey,
    buyerSocket: buyer.uris[0]?.split('@')[1] ?? '',
    place(orderId: string, status = 'WAITING_FOR_CHANNEL_OPEN', leaseBlocks?: number): FixtureOrder {
      const sockets = buyer.uris.map((uri) => uri.split('@')[1] ?? '')
      const lease = leaseBlocks === undefined ? {} : { leaseBlocks }
      const sale = { orderId, sizeSat: `${SIZE_SAT}`, sellerSat: '2500', peer: buyer.pubkey, sockets, isPrivate: false, ...lease }
      const order: FixtureOrder = {
        status,
        listed: true,
        invoices: [],
        submissions: [],
        refuse: undefined,
        closing: undefined,
        publishUntil: undefined,
        operatorLoss: undefined,
        readCount: 0,
        cancelCount: 0,
        sale,
      }
      orders.set(orderId, order)
      return order
    },
    /** Starts an agent. @returns its journal, and the function that stops it */
    start(change: AgentOverrides = {}) {
      const agent = startAgent(openJournal(journalPath), ada.pubkey, { lightning: seller, market, ...change })
      agents.push(agent.end)
      return agent
    },
    /** The number of sales in the journal that have not ended. Call it while no agent runs. */
    countOpenSales(): number {
      const journal = openJournal(journalPath)
      const { size } = journal.sales
      journal.close()
      return size
    },
    /** The number of prepared fundings that lock coins of the node and were never published. */
    async countUnpublishedFundings(): Promise<number> {
      const seen = new Set(simnet.control.channels('ada').map(({ outpoint }) => outpoint))
      return (await simnet.lightning('ada').channels.list()).filter(({ outpoint }) => !seen.has(outpoint)).length
    },
    /** Waits for the channel of an order, and lets it confirm. */
    async waitUntilSold(order: FixtureOrder): Promise<void> {
      const isPublished = () =>
        simnet.control.channels('ada').some(({ outpoint }) => outpoint === order.submissions.at(-1)?.outpoint)
      await waitUntil('the funding is published', isPublished)
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

/** Records every prepared funding, and expects that the market has acknowledged a funding before its publication. */
const checkPublications = (node: Lightning, orders: ReadonlyMap<string, FixtureOrder>, openings: string[]): Lightning => ({
  ...node,
  channels: {
    ...node.channels,
    prepare: async (request) => {
      const prepared = await node.channels.prepare(request)
      openings.push(prepared.outpoint)
      return prepared
    },
    publish: (funding) => {
      expect([...orders.values()].some(({ submissions }) => submissions.at(-1)?.outpoint === funding.outpoint)).toBe(true)
      return node.channels.publish(funding)
    },
  },
})

/** A fake market that checks its calls like the real market. */
function createFakeMarket(orders: ReadonlyMap<string, FixtureOrder>, sellerKey: string, buyerKey: string): MarketClient {
  const findOrThrow = (orderId: string): FixtureOrder => {
    const order = orders.get(orderId)
    if (!order) throw new MarketRefusal('Order not found')
    return order
  }
  return {
    listPendingSales: async () =>
      [...orders.values()].filter(({ listed }) => listed).map(({ sale, status }) => ({ ...sale, status })),
    async findOrder(orderId) {
      const order = orders.get(orderId)
      if (!order) return undefined
      order.readCount += 1
      const { status, closing, publishUntil, operatorLoss } = order
      return { status, closing, publishUntil, operatorLoss }
    },
    async accept(orderId, request) {
      const invoice = decodePaymentRequest(request)
      expect(invoice?.amountMsat).toBe(2_500_000n)
      expect((invoice?.expiresAt ?? 0) - systemClock.now()).toBeGreaterThan(49 * 3_600_000)
      const { invoices } = findOrThrow(orderId)
      if (invoices.at(-1) !== invoice?.paymentHash) invoices.push(invoice?.paymentHash ?? '')
    },
    async submitOutpoint(orderId, attestation) {
      const order = findOrThrow(orderId)
      const isRepeated = order.submissions.at(-1)?.outpoint === attestation.outpoint
      if (!isRepeated && (order.refuse === 'funding' || order.status !== 'WAITING_FOR_CHANNEL_OPEN'))
        throw new MarketRefusal('not now')
      expect(recoverPubkey(formatChannelAttestation(attestation), attestation.signature)).toBe(sellerKey)
      expect(attestation).toMatchObject({ capacitySat: SIZE_SAT, pushSat: 0n, nodeKeys: [sellerKey, buyerKey] })
      if (!isRepeated) order.submissions.push(attestation)
      Object.assign(order, { status: 'SELLER_SENT_TRANSACTION', listed: false })
      return order.publishUntil
    },
    async cancelUnreachable(orderId) {
      const order = findOrThrow(orderId)
      order.cancelCount++
      if (order.refuse === 'cancel') throw new MarketRefusal('not now')
    },
    attest: async () => {},
  }
}

type AgentParts = Required<Pick<AgentOverrides, 'lightning' | 'market'>> & AgentOverrides

function startAgent(
  opened: Journal,
  pubkey: string,
  { lightning, market, journal = (one) => one, timings, clock = systemClock, log = openLogger('silent') }: AgentParts,
) {
  const stop = new AbortController()
  const fees = { ...defaultFundingFeeSettings, startRate: 2 }
  const tools = { lightning, market, journal: journal(opened), clock, ids: systemChance, log }
  const context = {
    ...tools,
    pubkey,
    terms: sellerTerms,
    fees,
    preparing: new Map<string, string>(),
    wakeUps: createWakeUps(clock),
  }
  const allTimings = { ...fastTimings, ...timings }
  const sales = runSaleWorker(context, allTimings, stop.signal).catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error // a journal that cannot be written ends the agent, as a crash does in these tests
  })
  const work = Promise.all([sales, followChannels(context, allTimings, stop.signal)])
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
