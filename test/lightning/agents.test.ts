import { readTransaction } from '@penstock/bitcoin/raw.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { getChannels, getLockedUtxos, getPendingChannels } from 'lightning'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Death } from './agent.child.ts'
import { type Agent, agentsOf } from './agents.ts'
import { type Deal, exchange } from './exchange.ts'
import { miner } from './miner.ts'
import { noLightning } from './servers.ts'

/** Each life ends at the next of these, in the course of one sale. */
const DEATHS: readonly Death[] = [
  { step: 'InvoiceGiven', when: 'before' },
  { step: 'InvoiceGiven', when: 'after' },
  { step: 'OpeningBegun', when: 'after' },
  { step: 'Prepared', when: 'before' },
  { step: 'Prepared', when: 'after' },
  { step: 'Named', when: 'before' },
  { step: 'Named', when: 'after' },
  { step: 'PublishBegun', when: 'before' },
  { step: 'PublishBegun', when: 'after' },
  { step: 'Published', when: 'before' },
  { step: 'Published', when: 'after' },
  { step: 'Sold', when: 'before' },
  { step: 'Sold', when: 'after' },
  { step: 'Ended', when: 'before' },
]

/** At each of these its lnd dies once, in the course of one sale. */
const STEPS = [
  'InvoiceGiven',
  'OpeningBegun',
  'Prepared',
  'Named',
  'PublishBegun',
  'Published',
  'FeeRaised',
  'Sold',
] as const satisfies readonly Death['step'][]

describe.skipIf(noLightning)('a seller’s agent on lnd', () => {
  const here = exchange({ sellers: ['seller'], btcd: true })
  let start: Awaited<ReturnType<typeof agentsOf>>
  let agent: Agent
  beforeAll(async () => {
    // Nodes that are killed come back, and none of these orders is given up meanwhile.
    start = await agentsOf(here(), 'seller', 30)
  })
  afterAll(() => agent.kill())

  const node = (alias: string) => here().servers.node(alias)
  const paidOut = (deal: Deal) => until('the seller is paid', async () => (await here().told(deal)).includes('"PayoutSucceeded"'))
  const comesTo = (step: string) => until(`the agent comes to ${step}`, async () => agent.said().includes(`"step":"${step}"`))

  /** Channels to the buyer that are open or on their way at the seller’s node. */
  async function channels(): Promise<number> {
    const { lnd } = node('seller')
    const [open, pending] = await Promise.all([getChannels({ lnd }), getPendingChannels({ lnd })])
    const all = [...open.channels, ...pending.pending_channels]
    return all.filter(({ partner_public_key }) => partner_public_key === node('buyer').pubkey).length
  }

  /** How often the market knows something of an order. */
  const times = async (deal: Deal, fact: string) =>
    (await here().told(deal)).split(`"stream":"settlement","fact":"${fact}"`).length - 1

  /** @param all channels to the buyer that were sold by now */
  async function isSoldOnce(deal: Deal, all: number): Promise<void> {
    await paidOut(deal)
    await here().payment(deal, 'succeeded')
    expect([await times(deal, 'OutpointNoted'), await times(deal, 'PayoutSucceeded')]).toEqual([1, 1])
    expect(await channels()).toBe(all)
    expect((await getLockedUtxos({ lnd: node('seller').lnd })).utxos).toEqual([])
  }

  it('killed before and after every step of a sale: one channel, one payout, and no coin is left behind', async () => {
    const [first, ...more] = DEATHS
    agent = start({ dies: first ?? null })
    const deal = await here().deal()
    await here().paid(deal)
    expect(await agent.ended).toBe('SIGKILL')
    for (const dies of more) {
      agent = start({ dies })
      if (dies.step === 'Sold' && dies.when === 'before') await here().mineUntil(deal, 'VALID_CHANNEL_OPENING')
      if (dies.step === 'Ended') await here().servers.mine(6)
      expect([dies, await agent.ended]).toEqual([dies, 'SIGKILL'])
    }
    agent = start()
    await comesTo('Ended')
    await isSoldOnce(deal, 1)
  }, 180_000)

  it('its lnd killed at every step of a sale, while the agent stands just there: the same', async () => {
    await agent.kill()
    agent = start({ stands: STEPS, fees: { startRate: 1, raiseAfterBlocks: 2, maxRate: 50 } })
    const deal = await here().deal()
    await here().paid(deal)
    for (const step of STEPS) {
      // Blocks without the funding; then with it.
      if (step === 'FeeRaised') await miner(here().servers).extend(2)
      if (step === 'Sold') await here().mineUntil(deal, 'VALID_CHANNEL_OPENING')
      await agent.standsAt(step)
      await node('seller').kill()
      await agent.goOn(step)
      await node('seller').start()
    }
    await here().servers.mine(6)
    await comesTo('Ended')
    await isSoldOnce(deal, 2)
  }, 180_000)

  it('a funding that no block takes is helped by a child that pays for both', async () => {
    await agent.kill()
    agent = start({ fees: { startRate: 1, raiseAfterBlocks: 2, maxRate: 50 } })
    const deal = await here().deal()
    await here().paid(deal)
    await comesTo('Published')
    const blocks = miner(here().servers)
    const [funding = ''] = await blocks.mempool()
    await blocks.extend(2)
    await comesTo('FeeRaised')
    // lnd's own sweeper publishes it with the next block at the latest.
    await blocks.extend(1)
    const child = await until('the child waits beside it', async () => (await blocks.mempool()).find((txid) => txid !== funding))
    expect(readTransaction(await blocks.raw(child)).inputs.map(({ txid }) => txid)).toEqual([funding])
    await here().mineUntil(deal, 'VALID_CHANNEL_OPENING')
    await here().servers.mine(6)
    await isSoldOnce(deal, 3)
  }, 180_000)
})
