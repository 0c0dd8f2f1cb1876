import { Fault } from '@penstock/kernel/result.ts'
import { AddressRefused, type Lightning, OpenRefused } from '@penstock/ports/lightning.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Market } from './market.ts'
import { funding } from './sale.ts'
import { openStage, SIZE, type Stage } from './stage.contract.ts'

let stage: Stage
beforeEach(async () => {
  stage = await openStage()
})
afterEach(() => stage.close())

test('a sale: invoice, funding named, published, and nothing twice', async () => {
  const order = stage.place('one')
  const { end } = stage.start()
  await stage.complete(order)
  const [channel] = stage.simnet.control.channels('buyer')
  expect(channel).toMatchObject({
    outpoint: order.named[0]?.outpoint,
    capacity_sat: `${SIZE}`,
    peer: stage.sellerKey,
    private: false,
  })
  expect(stage.openings).toHaveLength(1)
  expect(order.invoices).toHaveLength(1)
  await end()
  expect(stage.openSales()).toBe(1) // the payout is still to come
})

test('an order that waits for approval is accepted with an invoice and opened later', async () => {
  const order = stage.place('one', 'WAITING_FOR_SELLER_APPROVAL')
  stage.start()
  await until('an invoice', () => order.invoices.length === 1)
  order.status = 'WAITING_FOR_CHANNEL_OPEN'
  await stage.complete(order)
  expect(order.invoices).toHaveLength(1)
})

test('several sales of one buyer side by side, each with one channel of its own', async () => {
  const ids = Array.from({ length: 12 }, (_, index) => `order-${index}`)
  const placed = ids.map((id) => stage.place(id))
  stage.start()
  for (const order of placed) await stage.complete(order)
  expect(new Set(placed.map(({ named }) => named[0]?.outpoint)).size).toBe(12)
  expect(stage.simnet.control.channels('buyer')).toHaveLength(12)
  expect(stage.openings).toHaveLength(12)
})

test('a new sale is opened before those that are published are looked after again', async () => {
  const first = stage.place('one')
  stage.start({ pace: { concurrency: 1, watchMs: 0 } })
  await until('the first is published', () => stage.simnet.control.channels('ada').length === 1)
  const second = stage.place('two')
  await until('the second is named', () => second.named.length === 1)
  expect(first.named).toHaveLength(1)
})

test('a funding whose output no short channel id can name is given up, and never named', async () => {
  const order = stage.place('one')
  const [high, real] = [(outpoint: string) => outpoint.replace(/:\d+$/, ':65536'), new Map<string, string>()]
  const { channels } = stage.seller
  const lightning: Lightning = {
    ...stage.seller,
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
  const { end } = stage.start({ lightning })
  await until('it is given up twice', () => real.size > 2)
  await end()
  expect(order.named).toEqual([])
})

test('a funding that the market refuses is given up, and its coins are free', async () => {
  const order = stage.place('one')
  order.refuse = 'funding'
  const before = await stage.seller.wallet.confirmedSat()
  stage.start({ pace: { maxOpenings: 2 } })
  await until('two stage.openings were given up', async () => stage.openings.length === 2 && (await stage.leftovers()) === 0)
  expect(await stage.seller.wallet.confirmedSat()).toBe(before)
  expect(stage.simnet.control.channels('buyer')).toEqual([])
})

test('a node that opens nothing is asked again while the order is still ours', async () => {
  stage.simnet.control.behave('ada', 'never-open')
  const order = stage.place('one')
  let refused = 0
  const counting = {
    ...stage.seller,
    channels: {
      ...stage.seller.channels,
      prepare: (request: Parameters<Lightning['channels']['prepare']>[0]) => {
        refused++
        return stage.seller.channels.prepare(request)
      },
    },
  }
  stage.start({ lightning: counting })
  await until('it was asked again', () => refused >= 3)
  stage.simnet.control.behave('ada', 'ok')
  await stage.complete(order)
  expect(stage.openings).toHaveLength(1)
})

/** The buyer's node is away for so many tries; `tries` counts them. */
function away(tries: number, how: 'peer-offline' | 'peer-refused') {
  const seen = { tries: 0 }
  const isAway = () => ++seen.tries <= tries
  const { peers, channels } = stage.seller
  const lightning: Lightning = {
    ...stage.seller,
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
  '%s again and again: the market is told once, and no more is tried',
  async (how) => {
    const { lightning, seen } = away(Number.POSITIVE_INFINITY, how)
    const order = stage.place('one')
    const { journal, end } = stage.start({ lightning, pace: { maxUnreached: 3 } })
    await until('the market was told', () => journal.sales.get('one')?.cancelled)
    expect(seen.tries).toBe(3)
    await end()
    // also after a start: whether the order goes on is the market's to say
    let looks = 0
    const looked = { ...stage.market, standing: (id: string) => (looks++, stage.market.standing(id)) }
    const second = stage.start({ lightning, market: looked, pace: { maxUnreached: 3 } })
    await until('it only watches', () => looks > 2)
    expect([seen.tries, order.cancels]).toEqual([3, 1])
    Object.assign(order, { status: 'SELLER_FAILED_TO_OPEN_CHANNEL', listed: false })
    await until('it is over', () => second.journal.sales.size === 0)
  },
)

test("a buyer's node that comes back in time gets its channel", async () => {
  const order = stage.place('one')
  stage.start({ lightning: away(2, 'peer-offline').lightning, pace: { maxUnreached: 3 } })
  await stage.complete(order)
  expect(order.cancels).toBe(0)
})

test("an address that the agent's node must not connect to is one at which nobody answers", async () => {
  const order = stage.place('one')
  const tried: string[] = []
  const forbidden: Lightning['peers']['connect'] = (_, socket) => {
    tried.push(socket)
    return Promise.reject(new AddressRefused(`${socket} is not public`))
  }
  const { lightning } = away(Number.POSITIVE_INFINITY, 'peer-offline')
  stage.start({ lightning: { ...lightning, peers: { ...lightning.peers, connect: forbidden } }, pace: { maxUnreached: 1 } })
  await until('the market was told', () => order.cancels > 0)
  expect(tried.length).toBeGreaterThan(0)
})

test('a cancellation that the market refuses is asked for again', async () => {
  const order = stage.place('one')
  order.refuse = 'cancel'
  const { journal } = stage.start({
    lightning: away(Number.POSITIVE_INFINITY, 'peer-offline').lightning,
    pace: { maxUnreached: 1 },
  })
  await until('it was refused', () => order.cancels > 1)
  order.refuse = undefined
  await until('it was taken', () => journal.sales.get('one')?.cancelled)
})

test('a lost order ends, and the next attempt at the same order is a sale again', async () => {
  stage.simnet.control.behave('ada', 'never-open')
  const order = stage.place('one')
  const { journal } = stage.start()
  await until('an invoice', () => order.invoices.length === 1)
  Object.assign(order, { status: 'SELLER_FAILED_TO_OPEN_CHANNEL', listed: false })
  await until('the first attempt is over', () => journal.sales.size === 0)
  stage.simnet.control.behave('ada', 'ok')
  Object.assign(order, { status: 'WAITING_FOR_CHANNEL_OPEN', listed: true })
  await stage.complete(order)
  expect(stage.openings).toHaveLength(1)
  // The market may pay by an invoice of either attempt.
  expect(journal.sales.get('one')?.given).toEqual(order.invoices)
  expect(order.invoices).toHaveLength(2)
})

test('what vanished stays when the order has failed: nobody can tell that it is nowhere', async () => {
  stage.simnet.control.behave('ada', 'vanish')
  const order = stage.place('one')
  const { journal } = stage.start()
  await until('it is handed out', () => journal.sales.get('one')?.opening.state === 'published')
  Object.assign(order, { status: 'SELLER_FAILED_TO_SEND_SWAP' })
  await until('the sale is over', () => journal.sales.size === 0)
  expect((await stage.seller.channels.list()).map(({ outpoint }) => outpoint)).toEqual(stage.openings)
  expect(stage.openings).toHaveLength(1)
})

const txidOf = (outpoint: string | undefined): string => outpoint?.split(':')[0] ?? ''

test('a funding that its own wallet has forgotten, and others not, is not given up when the order has failed', async () => {
  const order = stage.place('one')
  const first = stage.start()
  await until('it is published', () => first.journal.sales.get('one')?.opening.state === 'published')
  await first.end()
  const [outpoint = ''] = stage.openings
  stage.simnet.control.forget(txidOf(outpoint))
  order.status = 'SELLER_FAILED_TO_SEND_SWAP'
  const { journal } = stage.start()
  await until('the sale is over', () => journal.sales.size === 0)
  stage.simnet.control.rebroadcast(outpoint)
  stage.simnet.control.mine(6)
  expect(await stage.seller.channels.list()).toEqual([expect.objectContaining({ outpoint, state: 'active' })])
})

test('a publication without an answer may still come: its funding is not given up when the order has failed', async () => {
  const order = stage.place('one')
  const { channels } = stage.seller
  let land: () => Promise<void> = () => Promise.reject(new Error('not yet'))
  const cut: Lightning = {
    ...stage.seller,
    channels: {
      ...channels,
      publish: async (funding) => {
        land = () => channels.publish(funding)
        order.status = 'SELLER_FAILED_TO_SEND_SWAP'
        throw new Fault('no answer within 30000 ms')
      },
    },
  }
  const { journal } = stage.start({ lightning: cut })
  await until('the sale is over', () => order.named.length === 1 && journal.sales.size === 0)
  await land()
  stage.simnet.control.mine(6)
  expect(await channels.list()).toEqual([expect.objectContaining({ outpoint: stage.openings[0], state: 'active' })])
})

test('a funding that was forgotten everywhere is published again', async () => {
  const order = stage.place('one')
  const { journal } = stage.start()
  await until('it is published', () => journal.sales.get('one')?.opening.state === 'published')
  stage.simnet.control.forget(txidOf(order.named[0]?.outpoint))
  await stage.complete(order)
  await until('it is sold', () => journal.sales.get('one')?.sold)
  expect(stage.simnet.control.channels('buyer')).toHaveLength(1)
})

test('the journal of an older agent is read: it knew no invoice before it was given, and no beginning of a publication', async () => {
  stage.place('one')
  const first = stage.start()
  const sale = await until('it is published', () => {
    const now = first.journal.sales.get('one')
    return now?.opening.state === 'published' ? now : undefined
  })
  const { outpoint, handle, feeRate } = funding(sale)
  first.journal.record('two', 1, { type: 'Seen', terms: sale.terms })
  first.journal.record('two', 1, { type: 'InvoiceGiven', paymentHash: 'aa' })
  expect(first.journal.record('two', 2, { type: 'InvoiceGiven', paymentHash: 'bb' }).given).toEqual(['aa', 'bb'])
  first.journal.record('two', 2, { type: 'Prepared', outpoint, handle, feeRate })
  // It may have died between the publication and writing it down.
  expect(first.journal.record('two', 3, { type: 'Named' }).opening.state).toBe('publishing')
  expect(first.journal.record('two', 4, { type: 'Published', height: 7 }).opening).toEqual({ ...sale.opening, feeHeight: 7 })
})

test('an order that ended before its funding was published is not given a channel', async () => {
  const order = stage.place('one')
  const closing: Market = {
    ...stage.market,
    nameFunding: async (orderId, attestation) => {
      await stage.market.nameFunding(orderId, attestation)
      order.status = 'ADMIN_CLOSED'
    },
  }
  const { end } = stage.start({ market: closing })
  await until('the funding was given up', async () => order.named.length === 1 && (await stage.leftovers()) === 0)
  await end()
  expect(stage.simnet.control.channels('buyer')).toEqual([])
})

test('a funding that does not confirm is helped by its child', async () => {
  stage.simnet.control.feeFloor(3)
  const order = stage.place('one')
  stage.start()
  await until('it is published', () => stage.simnet.control.channels('ada').length === 1)
  await until('it confirms', async () => {
    stage.simnet.control.mine(1)
    return (await stage.seller.channels.list()).some(({ shortChannelId }) => shortChannelId !== null)
  })
  expect(order.named).toHaveLength(1)
})

test("a node's silence is waited out", async () => {
  stage.simnet.control.behave('ada', 'silent')
  const order = stage.place('one')
  let unanswered = 0
  const counting: Lightning = {
    ...stage.seller,
    payments: {
      ...stage.seller.payments,
      createInvoice: (request) => {
        unanswered++
        return stage.seller.payments.createInvoice(request)
      },
    },
  }
  stage.start({ lightning: counting })
  await until('it was tried more than once', () => unanswered > 1)
  stage.simnet.control.behave('ada', 'ok')
  await stage.complete(order)
  expect(stage.openings).toHaveLength(1)
})

test("the owner's own openings are left alone when an opening was broken off", async () => {
  const order = stage.place('one')
  await stage.seller.peers.connect(stage.buyerKey, stage.buyerSocket)
  const own = await stage.simnet
    .lightning('ada')
    .channels.prepare({ peer: stage.buyerKey, capacitySat: SIZE, isPrivate: false, feeRateSatPerVbyte: 1 })
  let broken = false
  const breaking: Lightning = {
    ...stage.seller,
    channels: {
      ...stage.seller.channels,
      prepare: async (request) => {
        const prepared = await stage.seller.channels.prepare(request)
        if (broken) return prepared
        broken = true
        throw new Fault('the line was cut after the node had done it')
      },
    },
  }
  stage.start({ lightning: breaking })
  await stage.complete(order)
  expect(stage.openings).toHaveLength(2)
  const list = await stage.simnet.lightning('ada').channels.list()
  expect(new Set(list.map(({ outpoint }) => outpoint))).toEqual(new Set([own.outpoint, order.named[0]?.outpoint]))
})
