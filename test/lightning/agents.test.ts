import { readTransaction } from '@penstock/bitcoin/raw-encoding.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import { closeChannel, getChannels, getLockedUtxos, getPendingChannels } from 'lightning'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AgentPlan, CrashPlan } from './agent.child.ts'
import { type AgentProcess, createAgentStarter } from './agents.ts'
import { type LightningPurchase, useLightningEnvironment } from './environment.ts'
import { createManualMiner } from './miner.ts'
import { isLightningMissing, runWithoutNode } from './servers.ts'

/** The crashes during one sale. Each run of the agent ends at the next crash. */
const CRASHES = [
  { step: 'InvoiceMade', moment: 'before' },
  { step: 'InvoiceMade', moment: 'after' },
  { step: 'InvoiceGiven', moment: 'before' },
  { step: 'InvoiceGiven', moment: 'after' },
  { step: 'OpeningBegun', moment: 'before' },
  { step: 'OpeningBegun', moment: 'after' },
  { step: 'Prepared', moment: 'before' },
  { step: 'Prepared', moment: 'after' },
  { step: 'Named', moment: 'before' },
  { step: 'Named', moment: 'after' },
  { step: 'PublishBegun', moment: 'before' },
  { step: 'PublishBegun', moment: 'after' },
  { step: 'Published', moment: 'before' },
  { step: 'Published', moment: 'after' },
  { step: 'FeeRaised', moment: 'before' },
  { step: 'FeeRaised', moment: 'after' },
  { step: 'Sold', moment: 'before' },
  { step: 'Sold', moment: 'after' },
  { step: 'Ended', moment: 'before' },
  { step: 'Ended', moment: 'after' },
  { step: 'Closed', moment: 'before' },
  { step: 'Closed', moment: 'after' },
] as const satisfies readonly CrashPlan[]

/** Sales whose order ends while the agent is paused at a step, and the crashes that follow. */
const LOST_STEPS = [
  {
    at: 'Prepared',
    status: 'SELLER_FAILED_TO_OPEN_CHANNEL',
    crashes: [
      { step: 'SetBack', moment: 'before' },
      { step: 'SetBack', moment: 'after' },
      { step: 'Ended', moment: 'before' },
    ],
  },
  {
    at: 'Named',
    status: 'SELLER_FAILED_TO_SEND_SWAP',
    crashes: [{ step: 'SetBack', moment: 'before' }],
  },
  {
    at: 'InvoiceMade',
    status: 'SELLER_FAILED_TO_OPEN_CHANNEL',
    crashes: [{ step: 'InvoiceRefused', moment: 'before' }],
  },
  {
    at: 'InvoiceMade',
    status: 'SELLER_FAILED_TO_OPEN_CHANNEL',
    crashes: [{ step: 'InvoiceRefused', moment: 'after' }],
  },
] as const satisfies readonly {
  readonly at: CrashPlan['step']
  readonly status: string
  readonly crashes: readonly CrashPlan[]
}[]

/** The crashes during two sales whose buyer’s node is unreachable. */
const UNREACHABLE_CRASHES = [
  { step: 'CancelAsked', moment: 'before' },
  { step: 'CancelAsked', moment: 'after' },
] as const satisfies readonly CrashPlan[]

type StepOutcome<D extends CrashPlan> = D extends CrashPlan ? `${D['moment']} ${D['step']}` : never
type CrashedSale = StepOutcome<
  (typeof CRASHES)[number] | (typeof LOST_STEPS)[number]['crashes'][number] | (typeof UNREACHABLE_CRASHES)[number]
>

/** Crashes that no test performs, with the reason. A new step has to be in a table of crashes or here. */
const NO_CRASHES: Readonly<Record<Exclude<StepOutcome<CrashPlan>, CrashedSale>, string>> = {
  'before Seen': 'the agent has not acted yet',
  'after Seen': 'the agent has not acted yet',
  'before CloseWanted': 'the agent asks the market again, and then records the step',
  'after CloseWanted': 'the journal contains it, and each later check closes the open channels',
}

/** The steps of one sale at which the lnd of the agent is killed. */
const STEPS = [
  'InvoiceGiven',
  'OpeningBegun',
  'Prepared',
  'Named',
  'PublishBegun',
  'Published',
  'FeeRaised',
  'Sold',
] as const satisfies readonly CrashPlan['step'][]

/** A long timeout, because sales wait for blocks and for restarted nodes. */
const CRASH_TIMEOUT_MS = 90_000
/** The timeout for lnd's sweeper to publish a transaction after a block. */
const SWEPT_WITHIN_MS = 30_000
const RAISED = { startRate: 1, raiseAfterBlocks: 2, maxRate: 50 }

describe.skipIf(isLightningMissing)('a seller’s agent on lnd', () => {
  const getEnvironment = useLightningEnvironment({
    sellers: ['seller'],
    btcd: true,
    // A raised fee needs some more blocks on a slow machine.
    env: { PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '30' },
  })
  let start: Awaited<ReturnType<typeof createAgentStarter>>
  let agent: AgentProcess
  const lost: LightningPurchase[] = []
  beforeAll(async () => {
    // Tests restart nodes. With 30 tries, the agent does not give up an order during a restart.
    start = await createAgentStarter(getEnvironment(), 'seller', 30)
  })
  afterAll(() => agent.kill())

  const node = (alias: string) => getEnvironment().servers.node(alias)
  const blocks = () => createManualMiner(getEnvironment().servers)
  const waitForPayout = (purchase: LightningPurchase) =>
    waitForResult('the seller is paid', async () => (await getEnvironment().readHistory(purchase)).includes('"PayoutSucceeded"'))
  const waitForStep = ({ id }: LightningPurchase, step: CrashPlan['step']) =>
    waitForResult(`the agent reaches ${step}`, async () => agent.getOutput().includes(`"order":"${id}","step":"${step}"`))

  const listLocked = async () => (await getLockedUtxos({ lnd: node('seller').lnd })).utxos

  /** Counts the open and pending channels to the buyer at the seller’s node. */
  async function countChannels(): Promise<number> {
    const { lnd } = node('seller')
    const [open, pending] = await Promise.all([getChannels({ lnd }), getPendingChannels({ lnd })])
    const all = [...open.channels, ...pending.pending_channels.filter(({ is_opening }) => is_opening)]
    return all.filter(({ partner_public_key }) => partner_public_key === node('buyer').pubkey).length
  }

  /** Counts a fact of settlement in the history of an order. */
  const countFacts = async (purchase: LightningPurchase, fact: string) =>
    (await getEnvironment().readHistory(purchase)).split(`"stream":"settlement","fact":"${fact}"`).length - 1

  /** @param all the total number of channels that were sold to the buyer */
  async function expectSoldOnce(purchase: LightningPurchase, all: number): Promise<void> {
    await waitForPayout(purchase)
    await getEnvironment().waitForPayment(purchase, 'succeeded')
    expect([await countFacts(purchase, 'OutpointRegistered'), await countFacts(purchase, 'PayoutSucceeded')]).toEqual([1, 1])
    expect(await countChannels()).toBe(all)
    expect(await listLocked()).toEqual([])
  }

  /** Runs the agent once per crash, one run after the other. */
  async function crashAt(
    crashes: readonly CrashPlan[],
    plan: Partial<AgentPlan> = {},
    purchase?: LightningPurchase,
  ): Promise<void> {
    for (const crash of crashes) {
      agent = start({ ...plan, crash })
      if (purchase) await reachStep(purchase, crash)
      expect([crash, await agent.waitUntilEnded(CRASH_TIMEOUT_MS)]).toEqual([crash, 'SIGKILL'])
    }
  }

  /** Mines the blocks or closes the channel, so that the sale continues to the step. */
  async function reachStep(purchase: LightningPurchase, { step, moment }: CrashPlan): Promise<void> {
    if (moment === 'after') return
    if (step === 'FeeRaised') await blocks().extend(RAISED.raiseAfterBlocks)
    if (step === 'Sold') await getEnvironment().mineUntil(purchase, 'VALID_CHANNEL_OPENING')
    if (step === 'Ended') await getEnvironment().servers.mine(6)
    if (step === 'Closed') await closeAsBuyer(purchase)
  }

  async function closeAsBuyer(purchase: LightningPurchase): Promise<void> {
    await expectSoldOnce(purchase, 1)
    const { lnd } = node('buyer')
    const [sold] = (await getChannels({ lnd, partner_public_key: node('seller').pubkey })).channels
    const { transaction_id = '', transaction_vout } = sold ?? {}
    await closeChannel({ lnd, transaction_id, transaction_vout: Number(transaction_vout) })
    await waitForResult('the closing transaction is in the mempool', async () => (await blocks().mempool()).length > 0)
    await getEnvironment().servers.mine()
  }

  it('has a crash test before and after every step, or states why it has none', () => {
    const crashes: readonly CrashPlan[] = [
      ...CRASHES,
      ...LOST_STEPS.flatMap((lost): readonly CrashPlan[] => lost.crashes),
      ...UNREACHABLE_CRASHES,
    ]
    expect(crashes.filter(({ step, moment }) => `${moment} ${step}` in NO_CRASHES)).toEqual([])
  })

  it('sells one channel, gets one payout and leaves no coin locked if it is killed before and after every step', async () => {
    const [first, ...otherCrashes] = CRASHES
    agent = start({ crash: first })
    const purchase = await getEnvironment().buy()
    await getEnvironment().payUntilHeld(purchase)
    expect(await agent.waitUntilEnded(CRASH_TIMEOUT_MS)).toBe('SIGKILL')
    await crashAt(otherCrashes, { fees: RAISED }, purchase)
    expect(agent.readSale(purchase.id)).toMatchObject({
      hasEnded: true,
      isChannelSold: true,
      channelEnd: { how: 'cooperative', early: true },
    })
    expect([
      await countChannels(),
      await countFacts(purchase, 'OutpointRegistered'),
      await countFacts(purchase, 'PayoutSucceeded'),
    ]).toEqual([0, 1, 1])
  }, 400_000)

  it.each(LOST_STEPS)(
    'opens no channel and leaves no coin locked if the order ends during a pause at $at, followed by a kill',
    async ({ at, status, crashes: [first, ...otherCrashes] }) => {
      const { wallet } = getEnvironment().lightning('seller')
      const before = await wallet.confirmedSat()
      agent = start({ crash: first, pausesAt: [at] })
      const purchase = await getEnvironment().buy()
      lost.push(purchase)
      await getEnvironment().payUntilHeld(purchase)
      await agent.waitUntilPausedAt(at)
      expect((await listLocked()).length).toBe(at === 'InvoiceMade' ? 0 : 1)
      // Cancels the payment at the market’s node, as lnd does before the expiry height. The market notices at the next block.
      await getEnvironment().lightning('market').holds.cancel(purchase.paymentHash)
      await blocks().extend(1)
      await getEnvironment().waitForStatus(purchase, status)
      await agent.resume(at)
      expect(await agent.waitUntilEnded(CRASH_TIMEOUT_MS)).toBe('SIGKILL')
      if (at === 'Prepared') {
        await node('seller').kill()
        await node('seller').start()
      }
      expect(await listLocked()).toEqual([])
      await crashAt(otherCrashes)
      await getEnvironment().waitForPayment(purchase, 'failed')
      expect([await countChannels(), await listLocked(), await blocks().mempool()]).toEqual([0, [], []])
      expect(await wallet.confirmedSat()).toBe(before)
    },
    300_000,
  )

  it('sells one channel and gets one payout if its lnd is killed during a pause at every step', async () => {
    agent = start({ pausesAt: STEPS, fees: RAISED })
    const purchase = await getEnvironment().buy()
    await getEnvironment().payUntilHeld(purchase)
    for (const step of STEPS) {
      // The first blocks do not contain the funding transaction, and the later blocks do.
      if (step === 'FeeRaised') await blocks().extend(RAISED.raiseAfterBlocks)
      if (step === 'Sold') await getEnvironment().mineUntil(purchase, 'VALID_CHANNEL_OPENING')
      await agent.waitUntilPausedAt(step)
      await node('seller').kill()
      await agent.resume(step)
      await node('seller').start()
    }
    await getEnvironment().servers.mine(6)
    await waitForStep(purchase, 'Ended')
    await expectSoldOnce(purchase, 1)
  }, 400_000)

  it('raises the fee of an unconfirmed funding by a child transaction (CPFP), and then replaces the child', async () => {
    await agent.kill()
    agent = start({ fees: { ...RAISED, startRate: 4 } })
    const purchase = await getEnvironment().buy()
    await getEnvironment().payUntilHeld(purchase)
    await waitForStep(purchase, 'Published')
    const [funding = ''] = await blocks().mempool()
    const child = await waitForRaisedFee(1, [funding])
    const next = await waitForRaisedFee(2, [funding, child.txid])
    for (const { inputs } of [child, next]) expect(inputs.map(({ txid }) => txid)).toEqual([funding])
    expect(next.outputs[0]?.valueSat).toBeLessThan(child.outputs[0]?.valueSat ?? 0n)
    expect(new Set(await blocks().mempool())).toEqual(new Set([funding, next.txid]))
    await getEnvironment().mineUntil(purchase, 'VALID_CHANNEL_OPENING')
    await getEnvironment().servers.mine(6)
    await expectSoldOnce(purchase, 2)
  }, 400_000)

  /** Waits until the agent has raised the fee `often` times. @returns the transaction in the mempool that `others` lacks */
  async function waitForRaisedFee(often: number, others: readonly string[]) {
    // After the first raise, the agent has already seen one block.
    await blocks().extend(often === 1 ? RAISED.raiseAfterBlocks : RAISED.raiseAfterBlocks - 1)
    await waitForResult('the fee is raised', async () => agent.getOutput().split('"step":"FeeRaised"').length - 1 === often)
    const raisedBy = async () => (await blocks().mempool()).find((one) => !others.includes(one))
    // The sweeper of lnd publishes the child transaction at the first block after the request.
    for (let tries = 0; tries < 5; tries++) {
      await blocks().extend(1)
      const txid = await waitForResult('the child is in the mempool', raisedBy, SWEPT_WITHIN_MS).catch(() => undefined)
      if (txid !== undefined) return readTransaction(await blocks().raw(txid))
    }
    throw new Error(`the fee was not raised ${often} times`)
  }

  it('ends both orders of an unreachable buyer if it is killed before and after it asks the market to cancel', async () => {
    const deals = [await getEnvironment().buy(), await getEnvironment().buy()]
    lost.push(...deals)
    // The agent is killed only now, because the market soon stops selling for a seller without a running agent.
    await agent.kill()
    for (const purchase of deals) await getEnvironment().payUntilHeld(purchase)
    // Before this request, the market checks that it reaches the buyer's node. Afterwards it does not.
    for (const purchase of deals)
      await waitForResult('the seller is asked to open', async () =>
        (await getEnvironment().readHistory(purchase)).includes('"ChannelOpenRequested"'),
      )
    await runWithoutNode(getEnvironment().servers, 'buyer', async () => {
      // With a concurrency of 1, the first run ends only the first order. The second run finds this, and ends the second order.
      const [before, after] = UNREACHABLE_CRASHES
      await crashAt([before], { pace: { concurrency: 1, maxUnreachable: 1 } })
      await waitForResult('one order has ended', async () => {
        const snapshots = await Promise.all(deals.map((purchase) => getEnvironment().readOrder(purchase)))
        return snapshots.some(({ status }) => status === 'SELLER_FAILED_TO_OPEN_CHANNEL')
      })
      await crashAt([after], { pace: { concurrency: 1, maxUnreachable: 1 } })
    })
    for (const purchase of deals) await getEnvironment().waitForStatus(purchase, 'SELLER_FAILED_TO_OPEN_CHANNEL')
    const open = lost.filter(({ id }) => !agent.readSale(id)?.hasEnded)
    agent = start()
    for (const purchase of open) await waitForStep(purchase, 'Ended')
    await agent.kill()
    for (const purchase of deals) await getEnvironment().waitForPayment(purchase, 'failed')
    for (const { id } of lost)
      expect(agent.readSale(id)).toMatchObject({ hasEnded: true, isChannelSold: false, opening: { state: 'none' } })
    expect([await countChannels(), await listLocked()]).toEqual([2, []])
  })
})
