import { Fault } from '@penstock/kernel/result.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { createJumpingWallClock } from '@penstock/ports/jumping-wall-clock.fixture.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, expect, test } from 'vitest'
import { type SettlementMarket, openSettlementMarket } from './market.fixture.ts'
import { SELLER_MSAT } from './samples.fixture.ts'
import { settlementService } from './service.ts'

let market: SettlementMarket
afterEach(() => market.close())

/** Starts a process whose store fails for an hour once this fact is decided. @param meanwhile runs during that hour */
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

test('a proof from before an outage of the store does not settle a payment after it', async () => {
  let [queries, queriesBefore] = [0, Number.POSITIVE_INFINITY]
  market = await openSettlementMarket({}, (ports) => ({
    ...ports,
    chain: {
      ...ports.chain,
      output: (...args) => {
        queries += 1
        return ports.chain.output(...args)
      },
    },
  }))
  await market.issueHold()
  const outpoint = await market.openAndRegister(await market.payHold())
  market.control.mine(3)
  const another = await storeAwayAt('SettlementStarted', () => {
    queriesBefore = queries
    market.control.close(outpoint)
    market.control.mine(1)
  })
  try {
    await market.tell('SettleHold', { outpoint })
    await waitUntil('it gathers the evidence again', async () => queries > queriesBefore + 2 || (await has('SettlementStarted')))
    expect(await has('SettlementStarted')).toBe(false)
  } finally {
    await another.close()
  }
})

test('an hour-old height does not let a funding with too few blocks left be recorded', async () => {
  market = await openSettlementMarket()
  await market.issueHold()
  const { heldAtHeight } = (await market.payHold()).data
  const [sellerPubkey, buyerPubkey] = [market.pubkey('seller-ada'), market.pubkey('buyer')]
  const { outpoint } = market.control.open('seller-ada', buyerPubkey, 1_000_000n)
  const agreed = { sellerPubkey, buyerPubkey, capacitySat: '1000000', isPrivate: false, rails: false, requiredConfirmations: 3 }
  // A seller can use all but the last 42 of the 147 blocks.
  const another = await storeAwayAt('OutpointRegistered', () => void market.control.mine(110))
  try {
    const submission = { attempt: 1, outpoint, sellerAmountMsat: `${SELLER_MSAT}`, attestation: null, outpointNumber: 1 }
    await market.tell('RegisterOutpoint', { ...submission, terms: { ...agreed, heldAtHeight } })
    await waitUntil('it is decided', async () => (await has('OutpointRegistered')) || (await has('OutpointRegistrationRefused')))
    expect(await has('OutpointRegistered')).toBe(false)
  } finally {
    await another.close()
  }
})

test('a wall clock that jumps during a decision makes no proof stale', async () => {
  market = await openSettlementMarket()
  await market.issueHold()
  const outpoint = await market.openAndRegister(await market.payHold())
  market.control.mine(3)
  await market.stop()
  const { platform } = market.world
  const clock = { ...platform.clock, now: createJumpingWallClock(() => platform.clock.now()) }
  const another = await run([bind(settlementService(), market.ports)], { ...platform, clock, instance: 'another' })
  try {
    await market.tell('SettleHold', { outpoint })
    await waitUntil('it is settled', () => has('HoldSettled'))
  } finally {
    await another.close()
  }
})
