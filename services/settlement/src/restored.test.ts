import type { Log } from '@penstock/runtime/log.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Market, openMarket, ORDER } from './market.contract.ts'
import { settlementService } from './service.ts'

let market: Market
beforeEach(async () => {
  market = await openMarket()
})
afterEach(() => market.close())

type Line = { readonly orders?: number; readonly differences?: number; readonly lost?: number }

/** The same stores again, as a process starts from them that was told of a restore. */
async function restored(): Promise<{ compared: () => Promise<Line>; close: () => Promise<void> }> {
  await market.stop()
  const { platform } = market.world
  const lines: Line[] = []
  const noLine = (): void => undefined
  const log: Log = { debug: noLine, info: noLine, error: noLine, warn: (line) => lines.push(line), child: () => log }
  const running = await run([bind(settlementService(), market.ports)], {
    ...platform,
    log,
    config: { ...platform.config, restored: true },
  })
  return {
    compared: () => until('the orders were compared', () => lines.find(({ orders }) => orders !== undefined)),
    close: () => running.close(),
  }
}

test('after a restore nothing is issued, settled, cancelled or paid, not even at the last height; then the guard goes on', async () => {
  await market.issue()
  await market.held()
  const before = await market.facts()
  const looking = await restored()
  market.control.mine(147 - 24)
  await market.tell('CancelHold', { sentence: 'x' })
  expect(await looking.compared()).toEqual({ orders: 1, differences: 0, lost: 0, strangers: 0 })
  expect(await market.facts()).toEqual(before)
  expect(await market.buyersPayment()).toBe('IN_FLIGHT')
  await looking.close()
  expect(await market.facts()).toEqual(before)

  await market.start()
  await market.fact('HoldCancelled')
})

test('a payment that the node has taken and the stores know nothing of is told', async () => {
  await market.issue()
  await market.held()
  await market.stop()
  const { keyId } = (await market.fact('HoldRequested')).data
  await market.ports.lightning.holds.settle(market.ports.keyring.preimageOf(keyId, ORDER, 1))
  const looking = await restored()
  expect(await looking.compared()).toMatchObject({ differences: 1, lost: 1 })
  await looking.close()
  await market.start()
})
