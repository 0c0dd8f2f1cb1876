import type { Lightning } from '@penstock/ports/lightning.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { mayClose } from './close-unpaid.ts'
import type { Standing } from './market.ts'
import { openStage, type Stage } from './stage.contract.ts'

let stage: Stage
beforeEach(async () => {
  stage = await openStage()
})
afterEach(() => stage.close())

const published = (outpoint: string | undefined): boolean =>
  stage.simnet.control.channels('ada').some((channel) => channel.outpoint === outpoint)

const isClosing = async (outpoint: string): Promise<boolean> => (await stage.simnet.chain().output(outpoint, 0))?.spentBy !== null

async function confirmed(lightning: Lightning = stage.seller) {
  const order = stage.place('one')
  const { journal } = stage.start({ lightning, pace: { closedMs: 20 } })
  await until('it is published', () => published(order.named[0]?.outpoint))
  await until('that is in the journal', () => journal.sales.get('one')?.opening.state === 'published')
  stage.simnet.control.mine(6)
  return { order, journal, outpoint: order.named[0]?.outpoint ?? '' }
}

test('the channel of an order that failed is closed at once, and that is in the journal', async () => {
  const { order, journal, outpoint } = await confirmed()
  order.status = 'SELLER_FAILED_TO_OPEN_CHANNEL'
  await until('it is being closed', () => isClosing(outpoint))
  stage.simnet.control.mine(1)
  await until('its end is kept', () => journal.fundingOf(outpoint)?.closed === 'yes')
  expect(journal.toClose()).toEqual([])
  expect(journal.find('one')?.closed).toMatchObject({ how: 'cooperative', by: 'us' })
})

test('a channel whose buyer hides is closed by force', async () => {
  const { order, journal, outpoint } = await confirmed()
  stage.simnet.control.setOnline('buyer', false)
  order.status = 'SELLER_FAILED_TO_OPEN_CHANNEL'
  await until('it is being closed', () => isClosing(outpoint))
  stage.simnet.control.mine(1)
  await until('its end is kept', () => journal.find('one')?.closed?.how === 'force')
})

test('a funding that is not confirmed when its order fails is closed when it is', async () => {
  const order = stage.place('one')
  const { journal } = stage.start({ pace: { closedMs: 20 } })
  await until('it is published', () => journal.sales.get('one')?.opening.state === 'published')
  order.status = 'SELLER_FAILED_TO_SEND_SWAP'
  await until('the sale is over', () => journal.sales.size === 0)
  const outpoint = order.named[0]?.outpoint ?? ''
  expect(await isClosing(outpoint)).toBe(false)
  stage.simnet.control.mine(6)
  await until('it is being closed', () => isClosing(outpoint))
})

test('a node that cannot close it now is asked again, and so is one that was away meanwhile', async () => {
  const { channels } = stage.seller
  let tries = 0
  const { order, journal, outpoint } = await confirmed({
    ...stage.seller,
    channels: {
      ...channels,
      close: (of) => (++tries < 3 ? Promise.reject(new Fault('not now')) : channels.close(of)),
    },
  })
  order.status = 'SELLER_FAILED_TO_OPEN_CHANNEL'
  await until('the sale is over', () => journal.sales.size === 0)
  await until('it is being closed', () => isClosing(outpoint))
  expect(tries).toBeGreaterThan(2)
})

test.each(['ADMIN_CLOSED', 'VALID_CHANNEL_OPENING'])('a channel whose order is %s stays', async (status) => {
  const { order, journal, outpoint } = await confirmed()
  order.status = status
  await until('that was seen', () => journal.sales.get('one')?.sold !== false)
  expect(journal.toClose()).toEqual([])
  expect(await isClosing(outpoint)).toBe(false)
})

test.each(['ASKED', 'BORNE'] as const)('a channel whose loss is %s stays, and it is closed once nobody pays', async (loss) => {
  const { order, journal, outpoint } = await confirmed()
  order.operatorLoss = loss
  order.status = 'SELLER_FAILED_TO_OPEN_CHANNEL'
  const looks = order.looks
  await until('that was seen twice', () => order.looks > looks + 2)
  expect(journal.sales.has('one')).toBe(true)
  expect(await isClosing(outpoint)).toBe(false)
  order.operatorLoss = 'REFUTED'
  await until('it is being closed', () => isClosing(outpoint))
})

test('what the market does not know, or may pay for, is not closed', () => {
  const standing = (status: string, operatorLoss?: Standing['operatorLoss']) => ({
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
