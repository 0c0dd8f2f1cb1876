import { Fault } from '@penstock/kernel/result.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { jumpingWall } from '@penstock/ports/jumping-wall.contract.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterEach, expect, test } from 'vitest'
import { type Market, openMarket } from './market.contract.ts'
import { SELLER_MSAT } from './samples.contract.ts'
import { settlementService } from './service.ts'

let market: Market
afterEach(() => market.close())

/** Another process goes on, whose store is away for an hour when this fact is decided. @param meanwhile what happens outside */
async function storeAwayAt(type: string, meanwhile: () => void) {
  await market.stop()
  const { platform, store } = market.world
  let offsetMs = 0
  const failing: EventStore = {
    ...store,
    append(stream, expected, events) {
      if (offsetMs > 0 || !events.some((event) => event.type === type)) return store.append(stream, expected, events)
      offsetMs = 3_600_000
      meanwhile()
      return Promise.reject(new Fault('no answer'))
    },
  }
  const clock = { ...platform.clock, monotonicMs: () => platform.clock.monotonicMs() + offsetMs }
  return run([bind(settlementService(), market.ports)], { ...platform, clock, store: failing, instance: 'another' })
}

const has = async (type: string): Promise<boolean> => (await market.facts()).some((fact) => fact.type === type)

test('what was proven before the store was away for an hour takes nobody’s money after it', async () => {
  let [looks, looksBefore] = [0, Number.POSITIVE_INFINITY]
  market = await openMarket({}, (ports) => ({
    ...ports,
    chain: {
      ...ports.chain,
      output: (...asked) => {
        looks += 1
        return ports.chain.output(...asked)
      },
    },
  }))
  await market.issue()
  const outpoint = await market.noted(await market.held())
  market.control.mine(3)
  const another = await storeAwayAt('SettleRequested', () => {
    looksBefore = looks
    market.control.close(outpoint)
    market.control.mine(1)
  })
  try {
    await market.tell('SettleHold', { outpoint })
    await until('it looks anew', async () => looks > looksBefore + 2 || (await has('SettleRequested')))
    expect(await has('SettleRequested')).toBe(false)
  } finally {
    await another.close()
  }
})

test('a funding for which the blocks no longer suffice is not noted by the height of an hour ago', async () => {
  market = await openMarket()
  await market.issue()
  const { heldAtHeight } = (await market.held()).data
  const [sellerPubkey, buyerPubkey] = [market.pubkey('seller-ada'), market.pubkey('buyer')]
  const { outpoint } = market.control.open('seller-ada', buyerPubkey, 1_000_000n)
  const agreed = { sellerPubkey, buyerPubkey, capacitySat: '1000000', isPrivate: false, rails: false, requiredConfirmations: 3 }
  // Of 147 blocks a seller has all but the last 42.
  const another = await storeAwayAt('OutpointNoted', () => void market.control.mine(110))
  try {
    const naming = { attempt: 1, outpoint, sellerAmountMsat: `${SELLER_MSAT}`, attestation: null, naming: 1 }
    await market.tell('NoteOutpoint', { ...naming, terms: { ...agreed, heldAtHeight } })
    await until('it is decided', async () => (await has('OutpointNoted')) || (await has('OutpointNoteRefused')))
    expect(await has('OutpointNoted')).toBe(false)
  } finally {
    await another.close()
  }
})

test('a wall clock that jumps while a look is weighed makes no proof stale', async () => {
  market = await openMarket()
  await market.issue()
  const outpoint = await market.noted(await market.held())
  market.control.mine(3)
  await market.stop()
  const { platform } = market.world
  const clock = { ...platform.clock, now: jumpingWall(() => platform.clock.now()) }
  const another = await run([bind(settlementService(), market.ports)], { ...platform, clock, instance: 'another' })
  try {
    await market.tell('SettleHold', { outpoint })
    await until('it is settled', () => has('HoldSettled'))
  } finally {
    await another.close()
  }
})
