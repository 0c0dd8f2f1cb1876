import type { Logger } from '@penstock/runtime/observability/log.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type SettlementMarket, openSettlementMarket, FIRST_ORDER } from './market.fixture.ts'
import { settlementService } from './service.ts'

let market: SettlementMarket
beforeEach(async () => {
  market = await openSettlementMarket()
})
afterEach(() => market.close())

type Line = { readonly orders?: number; readonly differences?: number; readonly lost?: number }

/** Starts a process on the same stores with the restore setting. */
async function restored(): Promise<{ compared: () => Promise<Line>; close: () => Promise<void> }> {
  await market.stop()
  const { platform } = market.world
  const lines: Line[] = []
  const noLine = (): void => undefined
  const log: Logger = { debug: noLine, info: noLine, error: noLine, warn: (line) => lines.push(line), child: () => log }
  const running = await run([bind(settlementService(), market.ports)], {
    ...platform,
    log,
    config: { ...platform.config, restored: true },
  })
  return {
    compared: () => waitUntil('the orders were compared', () => lines.find(({ orders }) => orders !== undefined)),
    close: () => running.close(),
  }
}

test('the restore setting prevents every change of a hold, even at the last height, until a start without it', async () => {
  await market.issueHold()
  await market.payHold()
  const before = await market.facts()
  const comparison = await restored()
  market.control.mine(147 - 24)
  await market.tell('CancelHold', { sentence: 'x' })
  expect(await comparison.compared()).toEqual({ orders: 1, differences: 0, lost: 0, strangers: 0 })
  expect(await market.facts()).toEqual(before)
  expect(await market.buyersPayment()).toBe('IN_FLIGHT')
  await comparison.close()
  expect(await market.facts()).toEqual(before)

  await market.start()
  await market.fact('HoldCancelled')
})

test('a payment that the node has settled and the stores have not is reported', async () => {
  await market.issueHold()
  await market.payHold()
  await market.stop()
  const { keyId } = (await market.fact('HoldRequested')).data
  await market.ports.lightning.holds.settle(market.ports.keyring.preimageOf(keyId, FIRST_ORDER, 1))
  const comparison = await restored()
  expect(await comparison.compared()).toMatchObject({ differences: 1, lost: 1 })
  await comparison.close()
  await market.start()
})
