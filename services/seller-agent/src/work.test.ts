import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSimnet, type Simnet } from '@penstock/adapters/simnet/simnet.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { type Attestation, attestationText } from '@penstock/bitcoin/attestation.ts'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { recover } from '@penstock/bitcoin/message-signature.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import { openLog } from '@penstock/runtime/log.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MarketRefusal } from './api.ts'
import type { Desk } from './desk.ts'
import { type Journal, openJournal } from './journal.ts'
import type { ListedSale, Market } from './market.ts'
import { fundingFees, type Pace, pace, type SellerTerms } from './terms.ts'
import { workOnSales } from './work.ts'

const SIZE = 1_000_000n
const quick: Pace = { ...pace, pollMs: 2, watchMs: 2, firstRetryMs: 2, longestRetryMs: 10 }
const terms: SellerTerms = {
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
  invoices: string[]
  named: Attestation[]
  refuse: string | undefined
  sale: Omit<ListedSale, 'status'>
}

let dir: string
let simnet: Simnet
let seller: Lightning
let sellerKey: string
let buyerKey: string
let orders: Map<string, Order>
let openings: string[]
let stop: (() => Promise<void>)[]

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'penstock-agent-'))
  simnet = openSimnet({
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
  sellerKey = (await simnet.lightning('ada').info()).pubkey
  buyerKey = (await simnet.lightning('buyer').info()).pubkey
  openings = []
  seller = watched(simnet.lightning('ada'))
  orders = new Map()
  stop = []
})
afterEach(async () => {
  for (const end of stop) await end()
  await simnet.close()
  rmSync(dir, { recursive: true })
})

/** Notes every funding that the node prepares, and that none is published before the market has acknowledged it. */
const watched = (node: Lightning): Lightning => ({
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

function place(orderId: string, status = 'WAITING_FOR_CHANNEL_OPEN'): Order {
  const [, socket = ''] =
    simnet.control
      .nodes()
      .find(({ alias }) => alias === 'buyer')
      ?.uri.split('@') ?? []
  const sale = { orderId, sizeSat: `${SIZE}`, sellerSat: '2500', peer: buyerKey, sockets: [socket], isPrivate: false }
  const order: Order = { status, listed: true, invoices: [], named: [], refuse: undefined, sale }
  orders.set(orderId, order)
  return order
}

const found = (orderId: string): Order => {
  const order = orders.get(orderId)
  if (!order) throw new MarketRefusal('Order not found')
  return order
}

/** The market's side: checks what it is given as the real one does. */
const fakeMarket: Market = {
  salesToDo: async () => [...orders.values()].filter(({ listed }) => listed).map(({ sale, status }) => ({ ...sale, status })),
  status: async (orderId) => orders.get(orderId)?.status,
  async accept(orderId, request) {
    const invoice = decodePaymentRequest(request)
    if (found(orderId).refuse === 'invoice') throw new MarketRefusal('not this one')
    expect(invoice?.amountMsat).toBe(2_500_000n)
    expect((invoice?.expiresAt ?? 0) - Date.now()).toBeGreaterThan(49 * 3_600_000)
    found(orderId).invoices.push(invoice?.paymentHash ?? '')
  },
  async nameFunding(orderId, attestation) {
    const order = found(orderId)
    const ours = order.named.at(-1)?.outpoint === attestation.outpoint
    if (!ours && (order.refuse === 'funding' || order.status !== 'WAITING_FOR_CHANNEL_OPEN')) throw new MarketRefusal('not now')
    expect(recover(attestationText(attestation), attestation.signature)).toBe(sellerKey)
    expect(attestation).toMatchObject({ capacitySat: SIZE, pushSat: 0n, nodeKeys: [sellerKey, buyerKey] })
    if (!ours) order.named.push(attestation)
    Object.assign(order, { status: 'SELLER_SENT_TRANSACTION', listed: false })
  },
  attest: async () => {},
}

type Change = {
  readonly lightning?: Lightning
  readonly market?: Market
  readonly journal?: (journal: Journal) => Journal
  readonly pace?: Partial<Pace>
  readonly clock?: Clock
}

/** Starts an agent on the one journal of this test; the function that it returns stops it. */
function start({
  lightning = seller,
  market = fakeMarket,
  journal = (one) => one,
  pace: other,
  clock = systemClock,
}: Change = {}): () => Promise<void> {
  const opened = openJournal(join(dir, 'journal.db'))
  const end = new AbortController()
  const fees = { ...fundingFees, startRate: 2 }
  const desk: Desk = {
    lightning,
    market,
    journal: journal(opened),
    clock,
    log: openLog('silent'),
    pubkey: sellerKey,
    terms,
    fees,
    preparing: new Map(),
  }
  const work = workOnSales(desk, { ...quick, ...other }, end.signal).catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error // a journal that cannot be written ends the agent, as a death does in these tests
  })
  let ended = false
  const finish = async (): Promise<void> => {
    if (ended) return
    ended = true
    end.abort()
    await work
    opened.close()
  }
  stop.push(finish)
  return finish
}

/** Starts an agent and lets the test look into its journal. */
function startSeen(change: Change = {}): { journal(): Journal } {
  let seen: Journal | undefined
  start({ ...change, journal: (one) => (seen = one) })
  return {
    journal: () => {
      if (!seen) throw new Error('the agent has no journal')
      return seen
    },
  }
}

const openSales = (): number => {
  const journal = openJournal(join(dir, 'journal.db'))
  const { size } = journal.sales
  journal.close()
  return size
}

/** Fundings that the node keeps coins back for, and nobody has seen. */
const leftovers = async (): Promise<number> => {
  const seen = new Set(simnet.control.channels('ada').map(({ outpoint }) => outpoint))
  return (await simnet.lightning('ada').channels.list()).filter(({ outpoint }) => !seen.has(outpoint)).length
}

async function confirmAndPay(orderId: string): Promise<void> {
  const order = found(orderId)
  await until('the funding is published', () =>
    simnet.control.channels('ada').some(({ outpoint }) => outpoint === order.named.at(-1)?.outpoint),
  )
  simnet.control.mine(6)
  order.status = 'VALID_CHANNEL_OPENING'
}

test('a sale: invoice, funding named, published, and nothing twice', async () => {
  const order = place('one')
  const end = start()
  await confirmAndPay('one')
  const [channel] = simnet.control.channels('buyer')
  expect(channel).toMatchObject({ outpoint: order.named[0]?.outpoint, capacity_sat: `${SIZE}`, peer: sellerKey, private: false })
  expect(openings).toHaveLength(1)
  expect(order.invoices).toHaveLength(1)
  await end()
  expect(openSales()).toBe(1) // the payout is still to come
})

test('a sale is over when its invoice is settled; an invoice that the market wants again is given again', async () => {
  const order = place('one')
  const states = new Map<string, 'open' | 'settled'>()
  const { payments } = seller
  const paying: Lightning = {
    ...seller,
    payments: {
      ...payments,
      findInvoice: async (hash) => {
        const invoice = await payments.findInvoice(hash)
        return invoice && { ...invoice, state: states.get(hash) ?? 'open' }
      },
    },
  }
  let later = 0
  const { journal } = startSeen({ lightning: paying, clock: { ...systemClock, now: () => Date.now() + later } })
  await confirmAndPay('one')
  Object.assign(order, { listed: true })
  later = 60_000
  await until('another invoice', () => order.invoices.length === 2)
  order.listed = false
  states.set(order.invoices[1] ?? '', 'settled')
  await until('it is over', () => journal().sales.size === 0)
})

test('an order that waits for approval is accepted with an invoice and opened later', async () => {
  const order = place('one', 'WAITING_FOR_SELLER_APPROVAL')
  start()
  await until('an invoice', () => order.invoices.length === 1)
  order.status = 'WAITING_FOR_CHANNEL_OPEN'
  await confirmAndPay('one')
  expect(order.invoices).toHaveLength(1)
})

test('several sales of one buyer side by side, each with one channel of its own', async () => {
  const ids = Array.from({ length: 12 }, (_, index) => `order-${index}`)
  for (const id of ids) place(id)
  start()
  for (const id of ids) await confirmAndPay(id)
  expect(new Set(ids.map((id) => found(id).named[0]?.outpoint)).size).toBe(12)
  expect(simnet.control.channels('buyer')).toHaveLength(12)
  expect(openings).toHaveLength(12)
})

test('a funding that the market refuses is given up, and its coins are free', async () => {
  const order = place('one')
  order.refuse = 'funding'
  const before = await seller.wallet.confirmedSat()
  start({ pace: { maxOpenings: 2 } })
  await until('two openings were given up', async () => openings.length === 2 && (await leftovers()) === 0)
  expect(await seller.wallet.confirmedSat()).toBe(before)
  expect(simnet.control.channels('buyer')).toEqual([])
})

test('a node that opens nothing is asked again while the order is still ours', async () => {
  simnet.control.behave('ada', 'never-open')
  place('one')
  let refused = 0
  const counting = {
    ...seller,
    channels: {
      ...seller.channels,
      prepare: (request: Parameters<Lightning['channels']['prepare']>[0]) => {
        refused++
        return seller.channels.prepare(request)
      },
    },
  }
  start({ lightning: counting })
  await until('it was asked again', () => refused >= 3)
  simnet.control.behave('ada', 'ok')
  await confirmAndPay('one')
  expect(openings).toHaveLength(1)
})

test('a lost order ends, and the next attempt at the same order is a sale again', async () => {
  simnet.control.behave('ada', 'never-open')
  const order = place('one')
  const first = startSeen()
  await until('an invoice', () => order.invoices.length === 1)
  Object.assign(order, { status: 'SELLER_FAILED_TO_OPEN_CHANNEL', listed: false })
  await until('the first attempt is over', () => first.journal().sales.size === 0)
  simnet.control.behave('ada', 'ok')
  Object.assign(order, { status: 'WAITING_FOR_CHANNEL_OPEN', listed: true })
  await confirmAndPay('one')
  expect(openings).toHaveLength(1)
})

test('what vanished is given up when the order has failed', async () => {
  simnet.control.behave('ada', 'vanish')
  const before = await seller.wallet.confirmedSat()
  const order = place('one')
  const end = start()
  await until('it is named', () => order.named.length === 1)
  await until('the node keeps coins for it', async () => (await seller.wallet.confirmedSat()) < before)
  order.status = 'SELLER_FAILED_TO_SEND_SWAP'
  await until('the coins are free', async () => (await seller.wallet.confirmedSat()) === before)
  await end()
  expect(openSales()).toBe(0)
  expect(openings).toHaveLength(1)
})

test('an order that ended before its funding was published is not given a channel', async () => {
  const order = place('one')
  const closing: Market = {
    ...fakeMarket,
    nameFunding: async (orderId, attestation) => {
      await fakeMarket.nameFunding(orderId, attestation)
      order.status = 'ADMIN_CLOSED'
    },
  }
  const end = start({ market: closing })
  await until('the funding was given up', async () => order.named.length === 1 && (await leftovers()) === 0)
  await end()
  expect(simnet.control.channels('buyer')).toEqual([])
})

test('a funding that does not confirm is helped by its child', async () => {
  simnet.control.feeFloor(3)
  const order = place('one')
  start()
  await until('it is published', () => simnet.control.channels('ada').length === 1)
  await until('it confirms', async () => {
    simnet.control.mine(1)
    return (await seller.channels.list()).some(({ shortChannelId }) => shortChannelId !== null)
  })
  expect(order.named).toHaveLength(1)
})

test("a node's silence is waited out", async () => {
  simnet.control.behave('ada', 'silent')
  place('one')
  let unanswered = 0
  const counting: Lightning = {
    ...seller,
    payments: {
      ...seller.payments,
      createInvoice: (request) => {
        unanswered++
        return seller.payments.createInvoice(request)
      },
    },
  }
  start({ lightning: counting })
  await until('it was tried more than once', () => unanswered > 1)
  simnet.control.behave('ada', 'ok')
  await confirmAndPay('one')
  expect(openings).toHaveLength(1)
})

test("the owner's own openings are left alone when an opening was broken off", async () => {
  place('one')
  const [, socket = ''] =
    simnet.control
      .nodes()
      .find(({ alias }) => alias === 'buyer')
      ?.uri.split('@') ?? []
  await seller.peers.connect(buyerKey, socket)
  const own = await simnet
    .lightning('ada')
    .channels.prepare({ peer: buyerKey, capacitySat: SIZE, isPrivate: false, feeRateSatPerVbyte: 1 })
  let broken = false
  const breaking: Lightning = {
    ...seller,
    channels: {
      ...seller.channels,
      prepare: async (request) => {
        const prepared = await seller.channels.prepare(request)
        if (broken) return prepared
        broken = true
        throw new Fault('the line was cut after the node had done it')
      },
    },
  }
  start({ lightning: breaking })
  await confirmAndPay('one')
  expect(openings).toHaveLength(2)
  const list = await simnet.lightning('ada').channels.list()
  expect(new Set(list.map(({ outpoint }) => outpoint))).toEqual(new Set([own.outpoint, found('one').named[0]?.outpoint]))
})

/** Calls of one life of the agent; call number `last` is its last one, and dies before or after it was carried out. */
function mortal(last: number, when: 'before' | 'after', die: () => void) {
  let calls = 0
  let dead = false
  const now = (): boolean => {
    if (dead) throw new Fault('dead')
    dead = ++calls === last
    if (dead) die()
    return dead
  }
  const wrap =
    <A extends readonly unknown[], T>(call: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      const dies = now()
      if (dies && when === 'before') throw new Fault('dead')
      const result = await call(...args)
      if (dies) throw new Fault('dead')
      return result
    }
  const { payments, channels } = seller
  const lightning: Lightning = {
    ...seller,
    payments: { ...payments, createInvoice: wrap((request) => payments.createInvoice(request)) },
    channels: {
      ...channels,
      prepare: wrap((request) => channels.prepare(request)),
      publish: wrap((funding) => channels.publish(funding)),
      abandon: wrap((funding) => channels.abandon(funding)),
    },
  }
  const market: Market = {
    ...fakeMarket,
    accept: wrap((id, request) => fakeMarket.accept(id, request)),
    nameFunding: wrap((id, attestation) => fakeMarket.nameFunding(id, attestation)),
    status: wrap((id) => fakeMarket.status(id)),
  }
  const journal = (one: Journal): Journal => ({
    ...one,
    sales: one.sales,
    record: (orderId, at, step) => {
      const dies = now()
      if (dies && when === 'before') throw new Fault('dead')
      const sale = one.record(orderId, at, step)
      if (dies) throw new Fault('dead')
      return sale
    },
  })
  return { lightning, market, journal, died: () => dead }
}

test.each(['before', 'after'] as const)(
  'stopped %s any step and started again: one channel, and no coin is left behind',
  async (when) => {
    let deaths = 0
    for (let last = 1; ; last++) {
      const orderId = `order-${last}`
      const order = place(orderId)
      const earlier = openings.length
      let end: (() => Promise<void>) | undefined
      let dead = false
      const life = mortal(last, when, () => (dead = true))
      end = start(life)
      const published = () => simnet.control.channels('ada').some(({ outpoint }) => outpoint === order.named.at(-1)?.outpoint)
      await until('it died or opened', () => dead || published())
      if (dead) deaths++
      await end()
      end = start()
      await confirmAndPay(orderId)
      expect(order.named).toHaveLength(1)
      // At most one opening was lost with its handle, and that was given up before the next began.
      expect(openings.length - earlier).toBeLessThanOrEqual(2)
      expect(await leftovers()).toBe(0)
      await end()
      if (!dead) break
      orders.delete(orderId)
    }
    expect(deaths).toBeGreaterThan(8)
    expect(simnet.control.channels('buyer')).toHaveLength(deaths + 1)
  },
)
