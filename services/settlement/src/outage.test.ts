import { Fault } from '@penstock/kernel/result.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, describe, expect, test } from 'vitest'
import type { SettlementPorts } from './effects/ports.ts'
import { type SettlementMarket, openSettlementMarket } from './market.fixture.ts'
import { SELLER_MSAT } from './samples.fixture.ts'

/** Blocks from the payment to E, and to the height at which the guard decides. */
const [END, LAST] = [147, 147 - 24]

let market: SettlementMarket
afterEach(() => market.close())

/** Faults of our own node; the chain source reports blocks during all of them. */
const nodeFaults = { rounds: 0, hasGraph: true, canSettle: true }
async function open(): Promise<void> {
  Object.assign(nodeFaults, { rounds: 0, hasGraph: true, canSettle: true })
  market = await openSettlementMarket({}, (ports: SettlementPorts) => {
    const { lightning: own } = ports
    const { holds, graph } = own
    const lightning: SettlementPorts['lightning'] = {
      ...own,
      info: async () => ({ ...(await own.info()), graphSynced: nodeFaults.hasGraph }),
      graph: {
        ...graph,
        channel: async (outpoint) => (nodeFaults.hasGraph ? graph.channel(outpoint) : undefined),
        probe: async (probe) =>
          nodeFaults.hasGraph ? graph.probe(probe) : { reached: false, failedAt: 'route', reason: 'no peers' },
      },
      holds: {
        ...holds,
        held() {
          nodeFaults.rounds += 1
          return holds.held()
        },
        async settle(preimage) {
          if (!nodeFaults.canSettle) throw new Fault('the connection broke')
          return holds.settle(preimage)
        },
      },
    }
    return { ...ports, lightning }
  })
}

const types = async (): Promise<readonly string[]> => (await market.facts()).map(({ type }) => type)

/** Waits for two starts of a round, because a round starts only after the previous round has ended. */
async function waitForGuardRound(): Promise<void> {
  for (let block = 0; block < 2; block++) {
    const { rounds } = nodeFaults
    market.control.mine(1)
    await waitUntil('the guard ran', () => nodeFaults.rounds > rounds)
  }
}

async function registerProvenChannel(): Promise<string> {
  await market.issueHold()
  return market.openAndRegister(await market.payHold())
}

test('a proven channel is settled after an outage of our node that covers the last height', async () => {
  await open()
  await registerProvenChannel()
  market.control.mine(6)
  market.control.setOnline('market', false)
  market.control.mine(LAST - 6)
  await waitForGuardRound()
  expect(await types()).not.toContain('CancelRequested')
  market.control.setOnline('market', true)
  market.control.mine(1)
  expect((await market.fact('SettlementStarted')).data.lastHeight).toBe(true)
  await market.fact('HoldSettled')
})

test('a payment that our node cancels right after an outage is recorded as cancelled', async () => {
  await open()
  await registerProvenChannel()
  market.control.mine(6)
  market.control.setOnline('market', false)
  market.control.mine(END - 12 - 6)
  market.control.setOnline('market', true)
  market.control.mine(1)
  await market.fact('HoldCancelled')
  expect(await types()).not.toContain('SettlementStarted')
  expect(await market.buyersPayment()).toBe('FAILED')
})

describe('the guard waits for a node without a graph', () => {
  const waited = async (): Promise<void> => {
    await open()
    await registerProvenChannel()
    nodeFaults.hasGraph = false
    market.control.mine(LAST)
    await waitForGuardRound()
    for (const type of ['SettlementStarted', 'CancelRequested']) expect(await types()).not.toContain(type)
  }
  test('until its graph contains the channel', async () => {
    await waited()
    nodeFaults.hasGraph = true
    market.control.mine(1)
    await market.fact('HoldSettled')
  })
  test('for no longer than six blocks', async () => {
    await waited()
    market.control.mine(4)
    expect((await market.fact('HoldCancelled')).data).toMatchObject({ reason: 'last-height', verdict: 'unproven' })
  })
})

test('if an outage past the expiry prevents a settlement, the buyer keeps its money and the operator pays', async () => {
  await open()
  const outpoint = await registerProvenChannel()
  await market.submitPayoutInvoice()
  market.control.mine(3)
  nodeFaults.canSettle = false
  await market.tell('SettleHold', { outpoint })
  await market.fact('SettlementStarted')
  market.control.setOnline('market', false)
  market.control.mine(END - 3)
  expect(await market.buyersPayment()).toBe('FAILED')
  const before = market.control.balances()
  // The node would still settle the invoice until the next block.
  nodeFaults.canSettle = true
  market.control.setOnline('market', true)
  expect((await market.fact('HoldCancelled')).data).toMatchObject({ reason: 'last-height', verdict: null })
  market.control.mine(10)
  await market.fact('PayoutInvoiceAccepted')
  expect(await types()).toContain('SettlementMissed')
  for (const never of ['HoldSettled', 'PayoutRequested']) expect(await types()).not.toContain(never)
  expect(market.control.balances()).toEqual(before)
  expect((await market.fact('LossBorne')).data).toMatchObject({ cause: 'not-taken-in-time', amountMsat: `${SELLER_MSAT}` })
  await market.decidePayout({ to: 'seller', by: 'ops', reason: 'our node was away' })
  market.control.mine(1)
  await market.fact('PayoutSucceeded')
})
