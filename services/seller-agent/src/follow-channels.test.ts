import type { Lightning } from '@penstock/ports/lightning.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openAgentFixture, type AgentFixture, sellerTerms } from './agent.fixture.ts'

const NEVER_MS = 1_000_000_000
const LEASE = 144

let fixture: AgentFixture
let lines: { readonly level: string; readonly text: string; readonly fields: object }[]
beforeEach(async () => {
  fixture = await openAgentFixture()
  lines = []
})
afterEach(() => fixture.close())

const recordLine = (level: string) => (fields: object, text: string) => void lines.push({ level, text, fields })
const log: Logger = {
  debug: recordLine('debug'),
  info: recordLine('info'),
  warn: recordLine('warn'),
  error: recordLine('error'),
  child: () => log,
}
const findLogLines = (pattern: RegExp) => lines.filter(({ text }) => pattern.test(text))

/** Starts an agent, which sells the channel of order `one`. */
async function openSoldChannel(change: Parameters<AgentFixture['start']>[0] = {}, leaseBlocks: number | null = LEASE) {
  const order = fixture.place('one', 'WAITING_FOR_CHANNEL_OPEN', leaseBlocks ?? undefined)
  const agent = fixture.start({ log, ...change })
  await fixture.waitUntilSold(order)
  await waitUntil('it is sold', () => agent.journal.sales.get('one')?.isChannelSold)
  return { ...agent, outpoint: order.submissions[0]?.outpoint ?? '' }
}

async function fundedAt(outpoint: string): Promise<number> {
  const channel = (await fixture.seller.channels.list()).find((one) => one.outpoint === outpoint)
  return Number(channel?.shortChannelId?.split('x')[0])
}

/** A node whose stream of changes sends nothing, or breaks off after each change. */
const streaming = (how: 'nothing' | 'cut'): Lightning => ({
  ...fixture.seller,
  channels: {
    ...fixture.seller.channels,
    async *changes(signal) {
      if (how === 'nothing') return void (await new Promise((resolve) => signal.addEventListener('abort', resolve)))
      for await (const change of fixture.seller.channels.changes(signal)) {
        yield change
        throw new Fault('the connection broke off')
      }
    },
  },
})

test('a sale is checked as soon as its channel becomes usable, before its next scheduled check', async () => {
  const order = fixture.place('one')
  let readCount = 0
  const market = { ...fixture.market, findOrder: (id: string) => (readCount++, fixture.market.findOrder(id)) }
  const { journal } = fixture.start({ market, timings: { pollMs: NEVER_MS, watchMs: NEVER_MS } })
  await waitUntil('it is published and watched', () => journal.sales.get('one')?.opening.state === 'published' && readCount > 1)
  await fixture.waitUntilSold(order)
  await waitUntil('it is sold', () => journal.sales.get('one')?.isChannelSold)
})

test('a close of a sold channel by the own node is logged as a warning, and recorded as a step of the sale', async () => {
  const { journal, outpoint } = await openSoldChannel()
  const { txid } = fixture.simnet.control.close(outpoint, { by: 'ada' })
  expect(journal.sales.get('one')?.channelEnd).toBeNull()
  fixture.simnet.control.mine(1)
  const { channelEnd } = await waitUntil('the close is recorded', () => {
    const sale = journal.sales.get('one')
    return sale?.channelEnd ? sale : undefined
  })
  const { height } = await fixture.seller.info()
  expect(channelEnd).toEqual({ how: 'cooperative', by: 'us', closingTxid: txid, height, early: true })
  const [line] = await waitUntil('the close is logged', () => {
    const found = findLogLines(/this node closed a channel that it sold before its lease ended/)
    return found.length > 0 ? found : undefined
  })
  expect(line).toMatchObject({ level: 'warn', fields: { order: 'one', outpoint, closingTxid: txid, height } })
})

test.each(['sends no changes', 'breaks off repeatedly', 'sends all changes'] as const)(
  "the buyer's close is recorded once if the stream %s",
  async (how) => {
    const lightning = how === 'sends all changes' ? fixture.seller : streaming(how === 'sends no changes' ? 'nothing' : 'cut')
    const { journal, outpoint, end } = await openSoldChannel({
      lightning,
      timings: { closedMs: how === 'sends all changes' ? NEVER_MS : 2 },
    })
    fixture.simnet.control.close(outpoint, { by: 'buyer', force: true })
    fixture.simnet.control.mine(1)
    await waitUntil('the close is recorded', () => journal.sales.get('one')?.channelEnd)
    expect(journal.sales.get('one')?.channelEnd).toMatchObject({ how: 'force', by: 'peer', early: true })
    await end()
    const { channels } = fixture.seller
    let [listCount, streamedCount] = [0, 0]
    const counting: Lightning['channels'] = {
      ...channels,
      closed: () => (listCount++, channels.closed()),
      async *changes(signal) {
        for await (const change of channels.changes(signal)) {
          yield change
          if (change.state === 'closed') streamedCount++
        }
      },
    }
    const again = fixture.start({ log, lightning: { ...fixture.seller, channels: counting }, timings: { closedMs: 2 } })
    // The agent asks for the next change or list only after it has handled the previous one.
    await waitUntil('the close is handled again', () => streamedCount > 0 && listCount > 1)
    expect(again.journal.findFunding(outpoint)?.closed).toBe('yes')
    expect(findLogLines(/the buyer's node closed a channel that was sold before its lease ended/)).toHaveLength(1)
    expect(findLogLines(/this node closed/)).toHaveLength(0)
  },
)

test('a close long after the payout is recorded as a step of the ended sale', async () => {
  const { payments } = fixture.seller
  let isPaid = false
  const lightning: Lightning = {
    ...fixture.seller,
    payments: {
      ...payments,
      findInvoice: async (hash) => {
        const invoice = await payments.findInvoice(hash)
        return invoice && { ...invoice, state: isPaid ? 'settled' : invoice.state }
      },
    },
  }
  const { journal, outpoint, end } = await openSoldChannel({ lightning })
  isPaid = true
  await waitUntil('it is over', () => journal.sales.size === 0)
  await end()
  const second = fixture.start({ log })
  fixture.simnet.control.close(outpoint, { by: 'ada', force: true })
  fixture.simnet.control.mine(1)
  await waitUntil('the close is recorded', () => second.journal.findSale('one')?.channelEnd)
  expect(second.journal.findSale('one')).toMatchObject({
    hasEnded: true,
    isChannelSold: true,
    channelEnd: { how: 'force', by: 'us', early: true },
  })
  expect(second.journal.sales.size).toBe(0)
  expect(second.journal.mayBegin('one')).toBe(false)
})

test('a close at the end of the lease, counted from the block of the funding, is not early', async () => {
  const { journal, outpoint } = await openSoldChannel()
  const fundingHeight = await fundedAt(outpoint)
  const { height } = await fixture.seller.info()
  fixture.simnet.control.close(outpoint, { by: 'ada' })
  // The fee floor keeps the closing transaction out of all blocks but the last.
  fixture.simnet.control.feeFloor(1000)
  fixture.simnet.control.mine(fundingHeight + LEASE - 1 - height)
  fixture.simnet.control.feeFloor(0)
  fixture.simnet.control.mine(1)
  await waitUntil('the close is recorded', () => journal.sales.get('one')?.channelEnd)
  expect(journal.sales.get('one')?.channelEnd).toMatchObject({ height: fundingHeight + LEASE, early: false })
  expect(findLogLines(/before its lease ended/)).toEqual([])
})

test('the terms of the agent give the length of the lease if the market does not send it', async () => {
  const { journal, outpoint } = await openSoldChannel({}, null)
  const fundingHeight = await fundedAt(outpoint)
  fixture.simnet.control.close(outpoint, { by: 'ada' })
  fixture.simnet.control.mine(1)
  const line = await waitUntil('the close is logged', () => findLogLines(/this node closed/)[0])
  expect(line.fields).toMatchObject({ leaseEndsAtHeight: fundingHeight + sellerTerms.minBlockLength })
  expect(journal.sales.get('one')?.channelEnd?.early).toBe(true)
})

test('a close is recorded before its closing party is known, and again with the party', async () => {
  const { channels } = fixture.seller
  let isKnown = false
  const lightning: Lightning = {
    ...fixture.seller,
    channels: {
      ...channels,
      changes: (signal) => streaming('nothing').channels.changes(signal),
      closed: async () =>
        (await channels.closed()).map((one) => (isKnown ? one : { ...one, by: null, height: null, shortChannelId: null })),
    },
  }
  const { journal, outpoint } = await openSoldChannel({ lightning, timings: { closedMs: 2 } })
  fixture.simnet.control.close(outpoint, { by: 'ada', force: true })
  fixture.simnet.control.mine(1)
  await waitUntil('the close is recorded', () => journal.sales.get('one')?.channelEnd)
  expect(journal.sales.get('one')?.channelEnd).toMatchObject({ by: null, height: null, early: true })
  expect(findLogLines(/the closing party is not known yet/)).toHaveLength(1)
  isKnown = true
  await waitUntil('it is known', () => journal.sales.get('one')?.channelEnd?.by)
  expect(findLogLines(/the closing party is not known yet/)).toHaveLength(1)
  expect(findLogLines(/this node closed/)).toHaveLength(1)
})

test('the channel of a failed order has no lease, and an abandoned funding has no end', async () => {
  const order = fixture.place('one')
  const { journal } = fixture.start({ log, timings: { maxOpenings: 2 } })
  await waitUntil('it is published', () => journal.sales.get('one')?.opening.state === 'published')
  fixture.simnet.control.mine(6)
  order.status = 'SELLER_FAILED_TO_SEND_SWAP'
  await waitUntil('the sale is over', () => journal.sales.size === 0)
  const closing = async () => (await fixture.seller.channels.list()).some(({ state }) => state === 'closing')
  await waitUntil('it is being closed', closing)
  fixture.simnet.control.mine(1)
  await waitUntil('the close is recorded', () => journal.findSale('one')?.channelEnd)
  expect(journal.findSale('one')?.channelEnd?.early).toBe(false)
  const refused = fixture.place('two')
  refused.refuse = 'funding'
  await waitUntil(
    'it was given up',
    async () => fixture.openings.length === 3 && (await fixture.countUnpublishedFundings()) === 0,
  )
  expect(journal.findSale('two')?.channelEnd).toBeNull()
  expect(findLogLines(/before its lease ended/)).toEqual([])
})
