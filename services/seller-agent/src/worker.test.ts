import { Fault } from '@penstock/kernel/result.ts'
import { AddressRefused, type Lightning, OpenRefused } from '@penstock/ports/lightning.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { MarketClient } from './market-client.ts'
import { fundingOf } from './sale.ts'
import { QUIET_AFTER_POLLS } from './worker.ts'
import { openAgentFixture, SIZE_SAT, type AgentFixture } from './agent.fixture.ts'

let fixture: AgentFixture
beforeEach(async () => {
  fixture = await openAgentFixture()
})
afterEach(() => fixture.close())

test('a sale submits one invoice and one outpoint, and opens one channel', async () => {
  const order = fixture.place('one')
  const { end } = fixture.start()
  await fixture.waitUntilSold(order)
  const [channel] = fixture.simnet.control.channels('buyer')
  expect(channel).toMatchObject({
    outpoint: order.submissions[0]?.outpoint,
    capacity_sat: `${SIZE_SAT}`,
    peer: fixture.sellerKey,
    private: false,
  })
  expect(fixture.openings).toHaveLength(1)
  expect(order.invoices).toHaveLength(1)
  await end()
  expect(fixture.countOpenSales()).toBe(1) // the payout is still pending
})

test('an order that waits for approval is accepted with an invoice, and its channel is opened later', async () => {
  const order = fixture.place('one', 'WAITING_FOR_SELLER_APPROVAL')
  fixture.start()
  await waitUntil('an invoice', () => order.invoices.length === 1)
  order.status = 'WAITING_FOR_CHANNEL_OPEN'
  await fixture.waitUntilSold(order)
  expect(order.invoices).toHaveLength(1)
})

test('several sales to one buyer at a time open one channel each', async () => {
  const ids = Array.from({ length: 12 }, (_, index) => `order-${index}`)
  const placed = ids.map((id) => fixture.place(id))
  fixture.start()
  for (const order of placed) await fixture.waitUntilSold(order)
  expect(new Set(placed.map(({ submissions }) => submissions[0]?.outpoint)).size).toBe(12)
  expect(fixture.simnet.control.channels('buyer')).toHaveLength(12)
  expect(fixture.openings).toHaveLength(12)
})

test('the opening of a new sale has precedence over the checks of published sales', async () => {
  const first = fixture.place('one')
  fixture.start({ timings: { concurrency: 1, watchMs: 0 } })
  await waitUntil('the first is published', () => fixture.simnet.control.channels('ada').length === 1)
  const second = fixture.place('two')
  await waitUntil('the second is submitted', () => second.submissions.length === 1)
  expect(first.submissions).toHaveLength(1)
})

test('an agent without sales polls less often after a while, until the market has a sale for it', async () => {
  const waitsMs: number[] = []
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    waitsMs.push(ms)
    return systemClock.sleep(1, signal)
  }
  const timings = { pollMs: 1001, quietPollMs: 2002 }
  fixture.start({ clock: { ...systemClock, sleep }, timings })
  await waitUntil('the agent is quiet', () => waitsMs.includes(2002))
  const pollWaitsMs = waitsMs.filter((ms) => ms === 1001 || ms === 2002)
  expect(pollWaitsMs.indexOf(2002)).toBe(QUIET_AFTER_POLLS - 1)
  const order = fixture.place('one')
  await waitUntil('the sale is submitted', () => order.submissions.length === 1)
  const waitsBefore = waitsMs.length
  await waitUntil('further polls', () => waitsMs.slice(waitsBefore).filter((ms) => ms === 1001).length > 2)
  expect(waitsMs.slice(waitsBefore)).not.toContain(2002)
})

test('a funding whose output index exceeds a short channel id is abandoned, and never submitted', async () => {
  const order = fixture.place('one')
  const [high, real] = [(outpoint: string) => outpoint.replace(/:\d+$/, ':65536'), new Map<string, string>()]
  const { channels } = fixture.seller
  const lightning: Lightning = {
    ...fixture.seller,
    channels: {
      ...channels,
      list: async () => (await channels.list()).map((channel) => ({ ...channel, outpoint: high(channel.outpoint) })),
      prepare: async (request) => {
        const prepared = await channels.prepare(request)
        real.set(high(prepared.outpoint), prepared.outpoint)
        return { ...prepared, outpoint: high(prepared.outpoint) }
      },
      abandon: ({ outpoint }) => channels.abandon({ outpoint: real.get(outpoint) ?? outpoint }),
    },
  }
  const { end } = fixture.start({ lightning })
  await waitUntil('it is abandoned twice', () => real.size > 2)
  await end()
  expect(order.submissions).toEqual([])
})

test('a funding that the market refuses is abandoned, and its coins are free', async () => {
  const order = fixture.place('one')
  order.refuse = 'funding'
  const before = await fixture.seller.wallet.confirmedSat()
  fixture.start({ timings: { maxOpenings: 2 } })
  await waitUntil(
    'two openings of the sale were abandoned',
    async () => fixture.openings.length === 2 && (await fixture.countUnpublishedFundings()) === 0,
  )
  expect(await fixture.seller.wallet.confirmedSat()).toBe(before)
  expect(fixture.simnet.control.channels('buyer')).toEqual([])
})

test('a failed opening is retried while the order belongs to the seller', async () => {
  fixture.simnet.control.behave('ada', 'never-open')
  const order = fixture.place('one')
  let refused = 0
  const counting = {
    ...fixture.seller,
    channels: {
      ...fixture.seller.channels,
      prepare: (request: Parameters<Lightning['channels']['prepare']>[0]) => {
        refused++
        return fixture.seller.channels.prepare(request)
      },
    },
  }
  fixture.start({ lightning: counting })
  await waitUntil('it was retried', () => refused >= 3)
  fixture.simnet.control.behave('ada', 'ok')
  await fixture.waitUntilSold(order)
  expect(fixture.openings).toHaveLength(1)
})

/** A node whose peer is offline, or refuses the channel, for the first `tries` tries. `seen.tries` counts all tries. */
function failFirstTries(tries: number, how: 'peer-offline' | 'peer-refused') {
  const seen = { tries: 0 }
  const isAway = () => ++seen.tries <= tries
  const { peers, channels } = fixture.seller
  const lightning: Lightning = {
    ...fixture.seller,
    peers: {
      ...peers,
      isConnected: (pubkey) => (how === 'peer-offline' && isAway() ? Promise.resolve(false) : peers.isConnected(pubkey)),
      connect: (pubkey, socket) =>
        how === 'peer-offline' && seen.tries <= tries ? Promise.resolve(false) : peers.connect(pubkey, socket),
    },
    channels: {
      ...channels,
      prepare: async (request) => {
        if (how === 'peer-refused' && isAway()) throw new OpenRefused(how, 'the peer said no')
        return channels.prepare(request)
      },
    },
  }
  return { lightning, seen }
}

test.each(['peer-offline', 'peer-refused'] as const)(
  'a repeated failure %s is reported to the market once, and no other opening is tried',
  async (how) => {
    const { lightning, seen } = failFirstTries(Number.POSITIVE_INFINITY, how)
    const order = fixture.place('one')
    const { journal, end } = fixture.start({ lightning, timings: { maxUnreachable: 3 } })
    await waitUntil('the market received the report', () => journal.sales.get('one')?.isCancelled)
    expect(seen.tries).toBe(3)
    await end()
    // The same applies after a restart, because the market decides whether the order continues.
    let readCount = 0
    const countingMarket = { ...fixture.market, findOrder: (id: string) => (readCount++, fixture.market.findOrder(id)) }
    const second = fixture.start({ lightning, market: countingMarket, timings: { maxUnreachable: 3 } })
    await waitUntil('it only watches', () => readCount > 2)
    expect([seen.tries, order.cancelCount]).toEqual([3, 1])
    Object.assign(order, { status: 'SELLER_FAILED_TO_OPEN_CHANNEL', listed: false })
    await waitUntil('it is over', () => second.journal.sales.size === 0)
  },
)

test("a buyer's node that is online again before the limit of tries gets its channel", async () => {
  const order = fixture.place('one')
  fixture.start({ lightning: failFirstTries(2, 'peer-offline').lightning, timings: { maxUnreachable: 3 } })
  await fixture.waitUntilSold(order)
  expect(order.cancelCount).toBe(0)
})

test("an address to which the agent's node must not connect counts as unreachable", async () => {
  const order = fixture.place('one')
  const tried: string[] = []
  const forbidden: Lightning['peers']['connect'] = (_, socket) => {
    tried.push(socket)
    return Promise.reject(new AddressRefused(`${socket} is not public`))
  }
  const { lightning } = failFirstTries(Number.POSITIVE_INFINITY, 'peer-offline')
  fixture.start({
    lightning: { ...lightning, peers: { ...lightning.peers, connect: forbidden } },
    timings: { maxUnreachable: 1 },
  })
  await waitUntil('the market received the report', () => order.cancelCount > 0)
  expect(tried.length).toBeGreaterThan(0)
})

test('a cancellation that the market refuses is requested again', async () => {
  const order = fixture.place('one')
  order.refuse = 'cancel'
  const { journal } = fixture.start({
    lightning: failFirstTries(Number.POSITIVE_INFINITY, 'peer-offline').lightning,
    timings: { maxUnreachable: 1 },
  })
  await waitUntil('it was refused', () => order.cancelCount > 1)
  order.refuse = undefined
  await waitUntil('it was accepted', () => journal.sales.get('one')?.isCancelled)
})

test('the sale of a lost order ends, and the next attempt at the order begins a new sale', async () => {
  fixture.simnet.control.behave('ada', 'never-open')
  const order = fixture.place('one')
  const { journal } = fixture.start()
  await waitUntil('an invoice', () => order.invoices.length === 1)
  Object.assign(order, { status: 'SELLER_FAILED_TO_OPEN_CHANNEL', listed: false })
  await waitUntil('the first attempt is over', () => journal.sales.size === 0)
  fixture.simnet.control.behave('ada', 'ok')
  Object.assign(order, { status: 'WAITING_FOR_CHANNEL_OPEN', listed: true })
  await fixture.waitUntilSold(order)
  expect(fixture.openings).toHaveLength(1)
  // The market may pay by an invoice of either attempt.
  expect(journal.sales.get('one')?.acceptedHashes).toEqual(order.invoices)
  expect(order.invoices).toHaveLength(2)
})

test('a vanished funding is not abandoned when the order has failed, because other nodes may still have it', async () => {
  fixture.simnet.control.behave('ada', 'vanish')
  const order = fixture.place('one')
  const { journal } = fixture.start()
  await waitUntil('it is published', () => journal.sales.get('one')?.opening.state === 'published')
  Object.assign(order, { status: 'SELLER_FAILED_TO_SEND_SWAP' })
  await waitUntil('the sale is over', () => journal.sales.size === 0)
  expect((await fixture.seller.channels.list()).map(({ outpoint }) => outpoint)).toEqual(fixture.openings)
  expect(fixture.openings).toHaveLength(1)
})

const txidOf = (outpoint: string | undefined): string => outpoint?.split(':')[0] ?? ''

test("a funding that only the seller's wallet has forgotten is not abandoned when the order has failed", async () => {
  const order = fixture.place('one')
  const first = fixture.start()
  await waitUntil('it is published', () => first.journal.sales.get('one')?.opening.state === 'published')
  await first.end()
  const [outpoint = ''] = fixture.openings
  fixture.simnet.control.forget(txidOf(outpoint))
  order.status = 'SELLER_FAILED_TO_SEND_SWAP'
  const { journal } = fixture.start()
  await waitUntil('the sale is over', () => journal.sales.size === 0)
  fixture.simnet.control.rebroadcast(outpoint)
  fixture.simnet.control.mine(6)
  expect(await fixture.seller.channels.list()).toEqual([expect.objectContaining({ outpoint, state: 'active' })])
})

test('a funding whose publication has an unknown outcome is not abandoned when the order has failed', async () => {
  const order = fixture.place('one')
  const { channels } = fixture.seller
  let publishLate: () => Promise<void> = () => Promise.reject(new Error('not yet'))
  const cut: Lightning = {
    ...fixture.seller,
    channels: {
      ...channels,
      publish: async (funding) => {
        publishLate = () => channels.publish(funding)
        order.status = 'SELLER_FAILED_TO_SEND_SWAP'
        throw new Fault('no answer within 30000 ms')
      },
    },
  }
  const { journal } = fixture.start({ lightning: cut })
  await waitUntil('the sale is over', () => order.submissions.length === 1 && journal.sales.size === 0)
  await publishLate()
  fixture.simnet.control.mine(6)
  expect(await channels.list()).toEqual([expect.objectContaining({ outpoint: fixture.openings[0], state: 'active' })])
})

test('a funding that every mempool has forgotten is published again', async () => {
  const order = fixture.place('one')
  const { journal } = fixture.start()
  await waitUntil('it is published', () => journal.sales.get('one')?.opening.state === 'published')
  fixture.simnet.control.forget(txidOf(order.submissions[0]?.outpoint))
  await fixture.waitUntilSold(order)
  await waitUntil('it is sold', () => journal.sales.get('one')?.isChannelSold)
  expect(fixture.simnet.control.channels('buyer')).toHaveLength(1)
})

test('the journal of an older agent, without the steps InvoiceMade and PublishBegun, is read', async () => {
  fixture.place('one')
  const first = fixture.start()
  const sale = await waitUntil('it is published', () => {
    const now = first.journal.sales.get('one')
    return now?.opening.state === 'published' ? now : undefined
  })
  const { outpoint, handle, feeRate } = fundingOf(sale)
  first.journal.record('two', 1, { type: 'Seen', terms: sale.terms })
  first.journal.record('two', 1, { type: 'InvoiceGiven', paymentHash: 'aa' })
  expect(first.journal.record('two', 2, { type: 'InvoiceGiven', paymentHash: 'bb' }).acceptedHashes).toEqual(['aa', 'bb'])
  first.journal.record('two', 2, { type: 'Prepared', outpoint, handle, feeRate })
  // The older agent may have crashed between the publication and its record.
  expect(first.journal.record('two', 3, { type: 'Named' }).opening.state).toBe('publishing')
  expect(first.journal.record('two', 4, { type: 'Published', height: 7 }).opening).toEqual({ ...sale.opening, feeHeight: 7 })
})

test('an order that ended before its funding was published gets no channel', async () => {
  const order = fixture.place('one')
  const closing: MarketClient = {
    ...fixture.market,
    submitOutpoint: async (orderId, attestation) => {
      await fixture.market.submitOutpoint(orderId, attestation)
      order.status = 'ADMIN_CLOSED'
    },
  }
  const { end } = fixture.start({ market: closing })
  await waitUntil(
    'the funding was abandoned',
    async () => order.submissions.length === 1 && (await fixture.countUnpublishedFundings()) === 0,
  )
  await end()
  expect(fixture.simnet.control.channels('buyer')).toEqual([])
})

test('a funding that does not confirm gets a child transaction with a higher fee', async () => {
  fixture.simnet.control.feeFloor(3)
  const order = fixture.place('one')
  fixture.start()
  await waitUntil('it is published', () => fixture.simnet.control.channels('ada').length === 1)
  await waitUntil('it confirms', async () => {
    fixture.simnet.control.mine(1)
    return (await fixture.seller.channels.list()).some(({ shortChannelId }) => shortChannelId !== null)
  })
  expect(order.submissions).toHaveLength(1)
})

test('a silent node is called again until it answers', async () => {
  fixture.simnet.control.behave('ada', 'silent')
  const order = fixture.place('one')
  let unanswered = 0
  const counting: Lightning = {
    ...fixture.seller,
    payments: {
      ...fixture.seller.payments,
      createInvoice: (request) => {
        unanswered++
        return fixture.seller.payments.createInvoice(request)
      },
    },
  }
  fixture.start({ lightning: counting })
  // A call to a silent node fails after half a second of the network's clock.
  await waitUntil('it was tried more than once', () => (fixture.skipNetworkTime(500), unanswered > 1))
  fixture.simnet.control.behave('ada', 'ok')
  fixture.skipNetworkTime(500)
  await fixture.waitUntilSold(order)
  expect(fixture.openings).toHaveLength(1)
})

test("an interrupted opening leaves the owner's own channels untouched", async () => {
  const order = fixture.place('one')
  await fixture.seller.peers.connect(fixture.buyerKey, fixture.buyerSocket)
  const own = await fixture.simnet
    .lightning('ada')
    .channels.prepare({ peer: fixture.buyerKey, capacitySat: SIZE_SAT, isPrivate: false, feeRateSatPerVbyte: 1 })
  let broken = false
  const breaking: Lightning = {
    ...fixture.seller,
    channels: {
      ...fixture.seller.channels,
      prepare: async (request) => {
        const prepared = await fixture.seller.channels.prepare(request)
        if (broken) return prepared
        broken = true
        throw new Fault('the connection broke after the node had prepared the channel')
      },
    },
  }
  fixture.start({ lightning: breaking })
  await fixture.waitUntilSold(order)
  expect(fixture.openings).toHaveLength(2)
  const list = await fixture.simnet.lightning('ada').channels.list()
  expect(new Set(list.map(({ outpoint }) => outpoint))).toEqual(new Set([own.outpoint, order.submissions[0]?.outpoint]))
})
