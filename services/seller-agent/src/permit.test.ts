import type { Lightning } from '@penstock/ports/lightning.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Market } from './market.ts'
import { openStage, type Stage } from './stage.contract.ts'

let stage: Stage
beforeEach(async () => {
  stage = await openStage()
})
afterEach(() => stage.close())

/** The market, whose answer to a naming takes so many blocks to arrive. */
const slowly = (blocks: number): Market => ({
  ...stage.market,
  nameFunding: async (orderId, attestation) => {
    const told = await stage.market.nameFunding(orderId, attestation)
    stage.simnet.control.mine(blocks)
    return told
  },
})

test('a funding is published at the last height of its permit', async () => {
  const order = stage.place('one')
  order.publishUntil = (await stage.seller.info()).height + 2
  stage.start({ market: slowly(2) })
  await stage.complete(order)
})

test('a funding is given up above the last height, however long the permit was on its way', async () => {
  const order = stage.place('one')
  order.publishUntil = (await stage.seller.info()).height + 2
  const { journal, end } = stage.start({ market: slowly(3) })
  await until('it is named', () => order.named.length === 1)
  const sale = () => journal.sales.get('one')
  await until('it is given up, or out', () => (sale()?.setbacks ?? 0) > 0 || sale()?.opening.state === 'published')
  expect(sale()?.setbacks).toBeGreaterThan(0)
  await end()
  expect(stage.simnet.control.channels('ada')).toEqual([])
  expect(order.named).toHaveLength(1)
  expect(await stage.leftovers()).toBe(0)
})

test('a funding that may be out is not handed out again above the last height, unless the market has seen it', async () => {
  const order = stage.place('one')
  order.publishUntil = (await stage.seller.info()).height + 2
  const { channels } = stage.seller
  let isAway = true
  let sent = 0
  const lightning: Lightning = {
    ...stage.seller,
    channels: {
      ...channels,
      publish: async (one) => {
        sent++
        if (!isAway) return channels.publish(one)
        stage.simnet.control.mine(3)
        isAway = false
        throw new Error('nobody knows what became of it')
      },
    },
  }
  let looks = 0
  const market: Market = { ...stage.market, standing: (id) => (looks++, stage.market.standing(id)) }
  const { journal } = stage.start({ lightning, market })
  await until('it was looked at again', () => looks > 2)
  expect([sent, journal.sales.get('one')?.opening.state]).toEqual([1, 'publishing'])
  order.status = 'WAITING_FOR_ON_CHAIN_CONFIRMATION'
  await until('it is published', () => journal.sales.get('one')?.opening.state === 'published')
})

test('an order tells the last height where the answer to the naming did not', async () => {
  const order = stage.place('one')
  order.publishUntil = (await stage.seller.info()).height
  const market: Market = {
    ...slowly(1),
    nameFunding: async (orderId, attestation) => {
      await slowly(1).nameFunding(orderId, attestation)
      return undefined
    },
  }
  const { journal } = stage.start({ market })
  await until('it is given up', () => (journal.sales.get('one')?.setbacks ?? 0) > 0)
  expect(stage.simnet.control.channels('ada')).toEqual([])
})
