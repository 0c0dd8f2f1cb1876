import type { Lightning } from '@penstock/ports/lightning.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { mayClose } from './close-unpaid-channels.ts'
import type { OrderSummary } from './market-client.ts'
import { openAgentFixture, type AgentFixture } from './agent.fixture.ts'

let fixture: AgentFixture
beforeEach(async () => {
  fixture = await openAgentFixture()
})
afterEach(() => fixture.close())

const isPublished = (outpoint: string | undefined): boolean =>
  fixture.simnet.control.channels('ada').some((channel) => channel.outpoint === outpoint)

const isClosing = async (outpoint: string): Promise<boolean> =>
  (await fixture.simnet.chain().output(outpoint, 0))?.spentBy !== null

async function openConfirmedChannel(lightning: Lightning = fixture.seller) {
  const order = fixture.place('one')
  const { journal } = fixture.start({ lightning, timings: { closedMs: 20 } })
  await waitUntil('it is published', () => isPublished(order.submissions[0]?.outpoint))
  await waitUntil('that is in the journal', () => journal.sales.get('one')?.opening.state === 'published')
  fixture.simnet.control.mine(6)
  return { order, journal, outpoint: order.submissions[0]?.outpoint ?? '' }
}

test('the channel of a failed order is closed at once, and its end is in the journal', async () => {
  const { order, journal, outpoint } = await openConfirmedChannel()
  order.status = 'SELLER_FAILED_TO_OPEN_CHANNEL'
  await waitUntil('it is being closed', () => isClosing(outpoint))
  fixture.simnet.control.mine(1)
  await waitUntil('its end is recorded', () => journal.findFunding(outpoint)?.closed === 'yes')
  expect(journal.listChannelsToClose()).toEqual([])
  expect(journal.findSale('one')?.channelEnd).toMatchObject({ how: 'cooperative', by: 'us' })
})

test("a channel is closed by force if the buyer's node is offline", async () => {
  const { order, journal, outpoint } = await openConfirmedChannel()
  fixture.simnet.control.setOnline('buyer', false)
  order.status = 'SELLER_FAILED_TO_OPEN_CHANNEL'
  await waitUntil('it is being closed', () => isClosing(outpoint))
  fixture.simnet.control.mine(1)
  await waitUntil('its end is recorded', () => journal.findSale('one')?.channelEnd?.how === 'force')
})

test('a channel whose funding is unconfirmed when its order fails is closed after the confirmation', async () => {
  const order = fixture.place('one')
  const { journal } = fixture.start({ timings: { closedMs: 20 } })
  await waitUntil('it is published', () => journal.sales.get('one')?.opening.state === 'published')
  order.status = 'SELLER_FAILED_TO_SEND_SWAP'
  await waitUntil('the sale is over', () => journal.sales.size === 0)
  const outpoint = order.submissions[0]?.outpoint ?? ''
  expect(await isClosing(outpoint)).toBe(false)
  fixture.simnet.control.mine(6)
  await waitUntil('it is being closed', () => isClosing(outpoint))
})

test('closing a channel is retried until the node closes it', async () => {
  const { channels } = fixture.seller
  let tries = 0
  const { order, journal, outpoint } = await openConfirmedChannel({
    ...fixture.seller,
    channels: {
      ...channels,
      close: (target) => (++tries < 3 ? Promise.reject(new Fault('not now')) : channels.close(target)),
    },
  })
  order.status = 'SELLER_FAILED_TO_OPEN_CHANNEL'
  await waitUntil('the sale is over', () => journal.sales.size === 0)
  await waitUntil('it is being closed', () => isClosing(outpoint))
  expect(tries).toBeGreaterThan(2)
})

test.each(['ADMIN_CLOSED', 'VALID_CHANNEL_OPENING'])('a channel whose order is %s stays open', async (status) => {
  const { order, journal, outpoint } = await openConfirmedChannel()
  order.status = status
  await waitUntil('that was seen', () => journal.sales.get('one')?.isChannelSold !== false)
  expect(journal.listChannelsToClose()).toEqual([])
  expect(await isClosing(outpoint)).toBe(false)
})

test.each(['ASKED', 'BORNE'] as const)('a channel whose operator loss is %s stays open until it is refuted', async (loss) => {
  const { order, journal, outpoint } = await openConfirmedChannel()
  order.operatorLoss = loss
  order.status = 'SELLER_FAILED_TO_OPEN_CHANNEL'
  const readCount = order.readCount
  await waitUntil('that was seen twice', () => order.readCount > readCount + 2)
  expect(journal.sales.has('one')).toBe(true)
  expect(await isClosing(outpoint)).toBe(false)
  order.operatorLoss = 'REFUTED'
  await waitUntil('it is being closed', () => isClosing(outpoint))
})

test('a channel is not closed if the market does not know its order, or may still pay for it', () => {
  const standing = (status: string, operatorLoss?: OrderSummary['operatorLoss']) => ({
    status,
    closing: undefined,
    publishUntil: undefined,
    operatorLoss,
  })
  expect(mayClose(undefined)).toBe(false)
  for (const status of ['ADMIN_CLOSED', 'SELLER_OPENED_CHANNEL', 'VALID_CHANNEL_OPENING'])
    expect(mayClose(standing(status))).toBe(false)
  for (const status of ['SELLER_FAILED_TO_OPEN_CHANNEL', 'SELLER_FAILED_TO_SEND_SWAP', 'INVALID_CHANNEL_OPENING'])
    expect(mayClose(standing(status))).toBe(true)
  for (const status of ['SELLER_FAILED_TO_OPEN_CHANNEL', 'ADMIN_CLOSED'])
    for (const [loss, isClosed] of [
      ['ASKED', false],
      ['BORNE', false],
      ['REFUTED', true],
      [null, true],
    ] as const)
      expect(mayClose(standing(status, loss))).toBe(isClosed)
})
