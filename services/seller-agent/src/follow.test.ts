import type { Lightning } from '@penstock/ports/lightning.ts'
import type { Log } from '@penstock/runtime/log.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStage, type Stage, terms } from './stage.contract.ts'

const NEVER_MS = 1_000_000_000
const LEASE = 144

let stage: Stage
let lines: { readonly level: string; readonly text: string; readonly fields: object }[]
beforeEach(async () => {
  stage = await openStage()
  lines = []
})
afterEach(() => stage.close())

const noting = (level: string) => (fields: object, text: string) => void lines.push({ level, text, fields })
const log: Log = {
  debug: noting('debug'),
  info: noting('info'),
  warn: noting('warn'),
  error: noting('error'),
  child: () => log,
}
const told = (pattern: RegExp) => lines.filter(({ text }) => pattern.test(text))

/** An agent whose channel of order `one` is open, and its order sold. */
async function sold(change: Parameters<Stage['start']>[0] = {}, leaseBlocks: number | null = LEASE) {
  const order = stage.place('one', 'WAITING_FOR_CHANNEL_OPEN', leaseBlocks ?? undefined)
  const agent = stage.start({ log, ...change })
  await stage.complete(order)
  await until('it is sold', () => agent.journal.sales.get('one')?.sold)
  return { ...agent, outpoint: order.named[0]?.outpoint ?? '' }
}

async function fundedAt(outpoint: string): Promise<number> {
  const channel = (await stage.seller.channels.list()).find((one) => one.outpoint === outpoint)
  return Number(channel?.shortChannelId?.split('x')[0])
}

/** Tells nothing by itself, or breaks off whenever it has told something. */
const streaming = (how: 'nothing' | 'cut'): Lightning => ({
  ...stage.seller,
  channels: {
    ...stage.seller.channels,
    async *changes(signal) {
      if (how === 'nothing') return void (await new Promise((resolve) => signal.addEventListener('abort', resolve)))
      for await (const change of stage.seller.channels.changes(signal)) {
        yield change
        throw new Fault('the connection broke off')
      }
    },
  },
})

test('a sale is looked at as soon as its channel can be used, and not at its next watch', async () => {
  const order = stage.place('one')
  let looks = 0
  const market = { ...stage.market, standing: (id: string) => (looks++, stage.market.standing(id)) }
  const { journal } = stage.start({ market, pace: { pollMs: NEVER_MS, watchMs: NEVER_MS } })
  await until('it is published and watched', () => journal.sales.get('one')?.opening.state === 'published' && looks > 1)
  await stage.complete(order)
  await until('it is sold', () => journal.sales.get('one')?.sold)
})

test('its own close of a channel that it sold is a warning, with order and outpoint, and a step of the sale', async () => {
  const { journal, outpoint } = await sold()
  const { txid } = stage.simnet.control.close(outpoint, { by: 'ada' })
  expect(journal.sales.get('one')?.closed).toBeNull()
  stage.simnet.control.mine(1)
  const { closed } = await until('it is written down', () => {
    const sale = journal.sales.get('one')
    return sale?.closed ? sale : undefined
  })
  const { height } = await stage.seller.info()
  expect(closed).toEqual({ how: 'cooperative', by: 'us', closingTxid: txid, height, early: true })
  const [line] = await until('it is said', () => {
    const found = told(/this node closed a channel that it sold before its lease ended/)
    return found.length > 0 ? found : undefined
  })
  expect(line).toMatchObject({ level: 'warn', fields: { order: 'one', outpoint, closingTxid: txid, height } })
})

test.each(['tells nothing', 'is cut again and again', 'tells all'] as const)(
  "the buyer's close is found where the stream %s, and written down once",
  async (how) => {
    const lightning = how === 'tells all' ? stage.seller : streaming(how === 'tells nothing' ? 'nothing' : 'cut')
    const { journal, outpoint, end } = await sold({ lightning, pace: { closedMs: how === 'tells all' ? NEVER_MS : 2 } })
    stage.simnet.control.close(outpoint, { by: 'buyer', force: true })
    stage.simnet.control.mine(1)
    await until('it is written down', () => journal.sales.get('one')?.closed)
    expect(journal.sales.get('one')?.closed).toMatchObject({ how: 'force', by: 'peer', early: true })
    await end()
    const again = stage.start({ log })
    let looks = 0
    await until('it is looked at again', () => (again.journal.fundingOf(outpoint)?.closed === 'yes' ? ++looks > 20 : false))
    expect(told(/the buyer's node closed a channel that was sold before its lease ended/)).toHaveLength(1)
    expect(told(/this node closed/)).toHaveLength(0)
  },
)

test('a close long after the payout is written down for the sale that has ended', async () => {
  const { payments } = stage.seller
  let isPaid = false
  const lightning: Lightning = {
    ...stage.seller,
    payments: {
      ...payments,
      findInvoice: async (hash) => {
        const invoice = await payments.findInvoice(hash)
        return invoice && { ...invoice, state: isPaid ? 'settled' : invoice.state }
      },
    },
  }
  const { journal, outpoint, end } = await sold({ lightning })
  isPaid = true
  await until('it is over', () => journal.sales.size === 0)
  await end()
  const second = stage.start({ log })
  stage.simnet.control.close(outpoint, { by: 'ada', force: true })
  stage.simnet.control.mine(1)
  await until('it is written down', () => second.journal.find('one')?.closed)
  expect(second.journal.find('one')).toMatchObject({ ended: true, sold: true, closed: { how: 'force', by: 'us', early: true } })
  expect(second.journal.sales.size).toBe(0)
  expect(second.journal.mayBegin('one')).toBe(false)
})

test('a lease ends with its last block, counted from the block of the funding', async () => {
  const { journal, outpoint } = await sold()
  const begun = await fundedAt(outpoint)
  const { height } = await stage.seller.info()
  stage.simnet.control.close(outpoint, { by: 'ada' })
  // The closing transaction waits until it pays enough for a block.
  stage.simnet.control.feeFloor(1000)
  stage.simnet.control.mine(begun + LEASE - 1 - height)
  stage.simnet.control.feeFloor(0)
  stage.simnet.control.mine(1)
  await until('it is written down', () => journal.sales.get('one')?.closed)
  expect(journal.sales.get('one')?.closed).toMatchObject({ height: begun + LEASE, early: false })
  expect(told(/before its lease ended/)).toEqual([])
})

test('where the market does not say how long the lease is, the terms of the agent do', async () => {
  const { journal, outpoint } = await sold({}, null)
  const begun = await fundedAt(outpoint)
  stage.simnet.control.close(outpoint, { by: 'ada' })
  stage.simnet.control.mine(1)
  const line = await until('it is said', () => told(/this node closed/)[0])
  expect(line.fields).toMatchObject({ leaseEndsAtHeight: begun + terms.minBlockLength })
  expect(journal.sales.get('one')?.closed?.early).toBe(true)
})

test('who closed it may be known later than that it is closed', async () => {
  const { channels } = stage.seller
  let isKnown = false
  const lightning: Lightning = {
    ...stage.seller,
    channels: {
      ...channels,
      changes: (signal) => streaming('nothing').channels.changes(signal),
      closed: async () =>
        (await channels.closed()).map((one) => (isKnown ? one : { ...one, by: null, height: null, shortChannelId: null })),
    },
  }
  const { journal, outpoint } = await sold({ lightning, pace: { closedMs: 2 } })
  stage.simnet.control.close(outpoint, { by: 'ada', force: true })
  stage.simnet.control.mine(1)
  await until('it is written down', () => journal.sales.get('one')?.closed)
  expect(journal.sales.get('one')?.closed).toMatchObject({ by: null, height: null, early: true })
  expect(told(/does not say yet by whom/)).toHaveLength(1)
  isKnown = true
  await until('it is known', () => journal.sales.get('one')?.closed?.by)
  expect(told(/does not say yet by whom/)).toHaveLength(1)
  expect(told(/this node closed/)).toHaveLength(1)
})

test('the channel of an order that failed is no lease, and a funding that was given up is no channel', async () => {
  const order = stage.place('one')
  const { journal } = stage.start({ log, pace: { maxOpenings: 2 } })
  await until('it is published', () => journal.sales.get('one')?.opening.state === 'published')
  stage.simnet.control.mine(6)
  order.status = 'SELLER_FAILED_TO_SEND_SWAP'
  await until('the sale is over', () => journal.sales.size === 0)
  const closing = async () => (await stage.seller.channels.list()).some(({ state }) => state === 'closing')
  await until('it is being closed', closing)
  stage.simnet.control.mine(1)
  await until('it is written down', () => journal.find('one')?.closed)
  expect(journal.find('one')?.closed?.early).toBe(false)
  const refused = stage.place('two')
  refused.refuse = 'funding'
  await until('it was given up', async () => stage.openings.length === 3 && (await stage.leftovers()) === 0)
  expect(journal.find('two')?.closed).toBeNull()
  expect(told(/before its lease ended/)).toEqual([])
})
