import { readTransaction } from '@penstock/bitcoin/raw.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import { closeChannel, getChannels, getLockedUtxos, getPendingChannels } from 'lightning'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AgentPlan, Death } from './agent.child.ts'
import { type Agent, agentsOf } from './agents.ts'
import { type Deal, exchange } from './exchange.ts'
import { miner } from './miner.ts'
import { noLightning, withoutNode } from './servers.ts'

/** Each life ends at the next of these, in the course of one sale. */
const DEATHS = [
  { step: 'InvoiceMade', when: 'before' },
  { step: 'InvoiceMade', when: 'after' },
  { step: 'InvoiceGiven', when: 'before' },
  { step: 'InvoiceGiven', when: 'after' },
  { step: 'OpeningBegun', when: 'before' },
  { step: 'OpeningBegun', when: 'after' },
  { step: 'Prepared', when: 'before' },
  { step: 'Prepared', when: 'after' },
  { step: 'Named', when: 'before' },
  { step: 'Named', when: 'after' },
  { step: 'PublishBegun', when: 'before' },
  { step: 'PublishBegun', when: 'after' },
  { step: 'Published', when: 'before' },
  { step: 'Published', when: 'after' },
  { step: 'FeeRaised', when: 'before' },
  { step: 'FeeRaised', when: 'after' },
  { step: 'Sold', when: 'before' },
  { step: 'Sold', when: 'after' },
  { step: 'Ended', when: 'before' },
  { step: 'Ended', when: 'after' },
  { step: 'Closed', when: 'before' },
  { step: 'Closed', when: 'after' },
] as const satisfies readonly Death[]

/** A sale each, whose order ends while the agent stands at a step: its lives end here. */
const LOST = [
  {
    at: 'Prepared',
    status: 'SELLER_FAILED_TO_OPEN_CHANNEL',
    deaths: [
      { step: 'SetBack', when: 'before' },
      { step: 'SetBack', when: 'after' },
      { step: 'Ended', when: 'before' },
    ],
  },
  {
    at: 'Named',
    status: 'SELLER_FAILED_TO_SEND_SWAP',
    deaths: [{ step: 'SetBack', when: 'before' }],
  },
  {
    at: 'InvoiceMade',
    status: 'SELLER_FAILED_TO_OPEN_CHANNEL',
    deaths: [{ step: 'InvoiceRefused', when: 'before' }],
  },
  {
    at: 'InvoiceMade',
    status: 'SELLER_FAILED_TO_OPEN_CHANNEL',
    deaths: [{ step: 'InvoiceRefused', when: 'after' }],
  },
] as const satisfies readonly { readonly at: Death['step']; readonly status: string; readonly deaths: readonly Death[] }[]

/** In the course of two sales whose buyer’s node has gone. */
const AWAY = [
  { step: 'CancelAsked', when: 'before' },
  { step: 'CancelAsked', when: 'after' },
] as const satisfies readonly Death[]

type Told<D extends Death> = D extends Death ? `${D['when']} ${D['step']}` : never
type Died = Told<(typeof DEATHS)[number] | (typeof LOST)[number]['deaths'][number] | (typeof AWAY)[number]>

/** Why a death is in none of the tables. A step that is new has to come into one of them, or here. */
const NO_DEATHS: Readonly<Record<Exclude<Told<Death>, Died>, string>> = {
  'before Seen': 'nobody was asked for anything yet',
  'after Seen': 'nobody was asked for anything yet',
  'before CloseWanted': 'the market is asked again, and the step written then',
  'after CloseWanted': 'the journal has it, and each later look at the channels closes what is open',
}

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

/** Its sales wait for blocks and for nodes that are started again. */
const DEATH_WITHIN_MS = 90_000
const RAISED = { startRate: 1, raiseAfterBlocks: 2, maxRate: 50 }

describe.skipIf(noLightning)('a seller’s agent on lnd', () => {
  const here = exchange({ sellers: ['seller'], btcd: true })
  let start: Awaited<ReturnType<typeof agentsOf>>
  let agent: Agent
  const lost: Deal[] = []
  beforeAll(async () => {
    // Nodes that are killed come back, and none of these orders is given up meanwhile.
    start = await agentsOf(here(), 'seller', 30)
  })
  afterAll(() => agent.kill())

  const node = (alias: string) => here().servers.node(alias)
  const blocks = () => miner(here().servers)
  const paidOut = (deal: Deal) => until('the seller is paid', async () => (await here().told(deal)).includes('"PayoutSucceeded"'))
  const comesTo = ({ id }: Deal, step: Death['step']) =>
    until(`the agent comes to ${step}`, async () => agent.said().includes(`"order":"${id}","step":"${step}"`))

  const locked = async () => (await getLockedUtxos({ lnd: node('seller').lnd })).utxos

  /** Channels to the buyer that are open or on their way at the seller’s node. */
  async function channels(): Promise<number> {
    const { lnd } = node('seller')
    const [open, pending] = await Promise.all([getChannels({ lnd }), getPendingChannels({ lnd })])
    const all = [...open.channels, ...pending.pending_channels.filter(({ is_opening }) => is_opening)]
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
    expect(await locked()).toEqual([])
  }

  /** Its next lives, one after the other. */
  async function dies(deaths: readonly Death[], plan: Partial<AgentPlan> = {}, deal?: Deal): Promise<void> {
    for (const death of deaths) {
      agent = start({ ...plan, dies: death })
      if (deal) await goesOn(deal, death)
      expect([death, await agent.end(DEATH_WITHIN_MS)]).toEqual([death, 'SIGKILL'])
    }
  }

  /** Blocks without its funding, then with it, those of its payout, and the end of its channel. */
  async function goesOn(deal: Deal, { step, when }: Death): Promise<void> {
    if (when === 'after') return
    if (step === 'FeeRaised') await blocks().extend(RAISED.raiseAfterBlocks)
    if (step === 'Sold') await here().mineUntil(deal, 'VALID_CHANNEL_OPENING')
    if (step === 'Ended') await here().servers.mine(6)
    if (step === 'Closed') await closes(deal)
  }

  async function closes(deal: Deal): Promise<void> {
    await isSoldOnce(deal, 1)
    const { lnd } = node('buyer')
    const [sold] = (await getChannels({ lnd, partner_public_key: node('seller').pubkey })).channels
    const { transaction_id = '', transaction_vout } = sold ?? {}
    await closeChannel({ lnd, transaction_id, transaction_vout: Number(transaction_vout) })
    await until('its end waits for a block', async () => (await blocks().mempool()).length > 0)
    await here().servers.mine()
  }

  it('every step is a death, or it is known why not', () => {
    const deaths: readonly Death[] = [...DEATHS, ...LOST.flatMap((lost): readonly Death[] => lost.deaths), ...AWAY]
    expect(deaths.filter(({ step, when }) => `${when} ${step}` in NO_DEATHS)).toEqual([])
  })

  it('killed before and after every step of a sale: one channel, one payout, and no coin is left behind', async () => {
    const [first, ...more] = DEATHS
    agent = start({ dies: first })
    const deal = await here().deal()
    await here().paid(deal)
    expect(await agent.end(DEATH_WITHIN_MS)).toBe('SIGKILL')
    await dies(more, { fees: RAISED }, deal)
    expect(agent.sale(deal.id)).toMatchObject({ ended: true, sold: true, closed: { how: 'cooperative', early: true } })
    expect([await channels(), await times(deal, 'OutpointNoted'), await times(deal, 'PayoutSucceeded')]).toEqual([0, 1, 1])
  }, 400_000)

  it.each(LOST)(
    'its order ends while it stands at $at, and it is killed: nothing is opened, and no coin is left behind',
    async ({ at, status, deaths: [first, ...more] }) => {
      const { wallet } = here().lightning('seller')
      const before = await wallet.confirmedSat()
      agent = start({ dies: first, stands: [at] })
      const deal = await here().deal()
      lost.push(deal)
      await here().paid(deal)
      await agent.standsAt(at)
      expect((await locked()).length).toBe(at === 'InvoiceMade' ? 0 : 1)
      // As where its expiry comes too close: the market’s node gives the payment back by itself, and a block shows it.
      await here().lightning('market').holds.cancel(deal.paymentHash)
      await blocks().extend(1)
      await here().reaches(deal, status)
      await agent.goOn(at)
      expect(await agent.end(DEATH_WITHIN_MS)).toBe('SIGKILL')
      if (at === 'Prepared') {
        await node('seller').kill()
        await node('seller').start()
      }
      expect(await locked()).toEqual([])
      await dies(more)
      await here().payment(deal, 'failed')
      expect([await channels(), await locked(), await blocks().mempool()]).toEqual([0, [], []])
      expect(await wallet.confirmedSat()).toBe(before)
    },
    300_000,
  )

  it('its lnd killed at every step of a sale, while the agent stands just there: the same', async () => {
    agent = start({ stands: STEPS, fees: RAISED })
    const deal = await here().deal()
    await here().paid(deal)
    for (const step of STEPS) {
      // Blocks without the funding; then with it.
      if (step === 'FeeRaised') await blocks().extend(RAISED.raiseAfterBlocks)
      if (step === 'Sold') await here().mineUntil(deal, 'VALID_CHANNEL_OPENING')
      await agent.standsAt(step)
      await node('seller').kill()
      await agent.goOn(step)
      await node('seller').start()
    }
    await here().servers.mine(6)
    await comesTo(deal, 'Ended')
    await isSoldOnce(deal, 1)
  }, 400_000)

  it('a funding that no block takes is helped by a child that pays for both, and by another one in its place', async () => {
    await agent.kill()
    agent = start({ fees: { ...RAISED, startRate: 4 } })
    const deal = await here().deal()
    await here().paid(deal)
    await comesTo(deal, 'Published')
    const [funding = ''] = await blocks().mempool()
    const child = await raised(1, [funding])
    const next = await raised(2, [funding, child.txid])
    for (const { inputs } of [child, next]) expect(inputs.map(({ txid }) => txid)).toEqual([funding])
    expect(next.outputs[0]?.valueSat).toBeLessThan(child.outputs[0]?.valueSat ?? 0n)
    expect(new Set(await blocks().mempool())).toEqual(new Set([funding, next.txid]))
    await here().mineUntil(deal, 'VALID_CHANNEL_OPENING')
    await here().servers.mine(6)
    await isSoldOnce(deal, 2)
  }, 400_000)

  /** @returns what waits beside the others, once the agent has raised the fee so often */
  async function raised(often: number, others: readonly string[]) {
    // The second time it has seen one since; a few more, and the market would give the funding up.
    await blocks().extend(often === 1 ? RAISED.raiseAfterBlocks : RAISED.raiseAfterBlocks - 1)
    await until('the fee is raised', async () => agent.said().split('"step":"FeeRaised"').length - 1 === often)
    // lnd's own sweeper publishes it with the next block at the latest.
    await blocks().extend(1)
    const txid = await until('it waits', async () => (await blocks().mempool()).find((one) => !others.includes(one)))
    return readTransaction(await blocks().raw(txid))
  }

  it('the buyer’s node goes away: killed before and after the market is told, and both orders end', async () => {
    const deals = [await here().deal(), await here().deal()]
    lost.push(...deals)
    // Not before they are sold: a seller whose agent is gone is asked for nothing after a while.
    await agent.kill()
    for (const deal of deals) await here().paid(deal)
    // Later than that the market looks for the buyer's node no more.
    for (const deal of deals) await until('the seller is asked', async () => (await here().told(deal)).includes('"OpeningAsked"'))
    await withoutNode(here().servers, 'buyer', async () => {
      // One at a time: the second is not given up before the first was, which the second life must find over.
      const [before, after] = AWAY
      await dies([before], { pace: { concurrency: 1, maxUnreached: 1 } })
      await until('one of them has ended', async () => {
        const seen = await Promise.all(deals.map((deal) => here().seen(deal)))
        return seen.some(({ status }) => status === 'SELLER_FAILED_TO_OPEN_CHANNEL')
      })
      await dies([after], { pace: { concurrency: 1, maxUnreached: 1 } })
    })
    for (const deal of deals) await here().reaches(deal, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    const open = lost.filter(({ id }) => !agent.sale(id)?.ended)
    agent = start()
    for (const deal of open) await comesTo(deal, 'Ended')
    await agent.kill()
    for (const deal of deals) await here().payment(deal, 'failed')
    for (const { id } of lost) expect(agent.sale(id)).toMatchObject({ ended: true, sold: false, opening: { state: 'none' } })
    expect([await channels(), await locked()]).toEqual([2, []])
  })
})
