import { Fault } from '@penstock/kernel/result.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterEach, describe, expect, test } from 'vitest'
import type { SettlementPorts } from './effects/ports.ts'
import { type Market, openMarket } from './market.contract.ts'
import { SELLER_MSAT } from './samples.contract.ts'

/** Blocks from the payment to E, and the height at which the guard decides. */
const [END, LAST] = [147, 147 - 24]

let market: Market
afterEach(() => market.close())

/** Our own node; blocks are heard of from elsewhere, whatever becomes of it. */
const place = { rounds: 0, hasGraph: true, canSettle: true }
async function open(): Promise<void> {
  Object.assign(place, { rounds: 0, hasGraph: true, canSettle: true })
  market = await openMarket({}, (ports: SettlementPorts) => {
    const { lightning: own } = ports
    const { holds, graph } = own
    const lightning: SettlementPorts['lightning'] = {
      ...own,
      info: async () => ({ ...(await own.info()), graphSynced: place.hasGraph }),
      graph: {
        ...graph,
        channel: async (outpoint) => (place.hasGraph ? graph.channel(outpoint) : undefined),
        probe: async (probe) => (place.hasGraph ? graph.probe(probe) : { reached: false, failedAt: 'route', reason: 'no peers' }),
      },
      holds: {
        ...holds,
        held() {
          place.rounds += 1
          return holds.held()
        },
        async settle(preimage) {
          if (!place.canSettle) throw new Fault('the connection broke')
          return holds.settle(preimage)
        },
      },
    }
    return { ...ports, lightning }
  })
}

const types = async (): Promise<readonly string[]> => (await market.facts()).map(({ type }) => type)

/** A round begins when the one before it has ended. */
async function guardComes(): Promise<void> {
  for (let block = 0; block < 2; block++) {
    const { rounds } = place
    market.control.mine(1)
    await until('the guard came', () => place.rounds > rounds)
  }
}

async function proven(): Promise<string> {
  await market.issue()
  return market.noted(await market.held())
}

test('our node is away at the last height, and blocks go on: no word is said, and what was proven is settled when it is back', async () => {
  await open()
  await proven()
  market.control.mine(6)
  market.control.setOnline('market', false)
  market.control.mine(LAST - 6)
  await guardComes()
  expect(await types()).not.toContain('CancelRequested')
  market.control.setOnline('market', true)
  market.control.mine(1)
  expect((await market.fact('SettleRequested')).data.lastHeight).toBe(true)
  await market.fact('HoldSettled')
})

test('it is away until its own last line: it gives the payment back when it is back, and the order hears of that', async () => {
  await open()
  await proven()
  market.control.mine(6)
  market.control.setOnline('market', false)
  market.control.mine(END - 12 - 6)
  market.control.setOnline('market', true)
  market.control.mine(1)
  await market.fact('HoldCancelled')
  expect(await types()).not.toContain('SettleRequested')
  expect(await market.buyersPayment()).toBe('FAILED')
})

describe('it is back and has heard of no channel yet, so it is waited for', () => {
  const waited = async (): Promise<void> => {
    await open()
    await proven()
    place.hasGraph = false
    market.control.mine(LAST)
    await guardComes()
    for (const word of ['SettleRequested', 'CancelRequested']) expect(await types()).not.toContain(word)
  }
  test('until it hears of it', async () => {
    await waited()
    place.hasGraph = true
    market.control.mine(1)
    await market.fact('HoldSettled')
  })
  test('and no longer than six blocks', async () => {
    await waited()
    market.control.mine(4)
    expect((await market.fact('HoldCancelled')).data).toMatchObject({ reason: 'last-height', verdict: 'unproven' })
  })
})

test('an outage past the end keeps back what was to be settled: nothing is taken, the buyer has the money, and the operator pays the seller', async () => {
  await open()
  const outpoint = await proven()
  await market.payoutInvoice()
  market.control.mine(3)
  place.canSettle = false
  await market.tell('SettleHold', { outpoint })
  await market.fact('SettleRequested')
  market.control.setOnline('market', false)
  market.control.mine(END - 3)
  expect(await market.buyersPayment()).toBe('FAILED')
  const before = market.control.balances()
  // Until the next block it would still settle the invoice.
  place.canSettle = true
  market.control.setOnline('market', true)
  expect((await market.fact('HoldCancelled')).data).toMatchObject({ reason: 'last-height', verdict: null })
  market.control.mine(10)
  await market.fact('PayoutInvoiceTaken')
  expect(await types()).toContain('SettleMissed')
  for (const never of ['HoldSettled', 'PayoutRequested']) expect(await types()).not.toContain(never)
  expect(market.control.balances()).toEqual(before)
  expect((await market.fact('LossBorne')).data).toMatchObject({ cause: 'not-taken-in-time', amountMsat: `${SELLER_MSAT}` })
  await market.tell('DecidePayout', { to: 'seller', by: 'ops', reason: 'our node was away' })
  market.control.mine(1)
  await market.fact('PayoutSucceeded')
})
