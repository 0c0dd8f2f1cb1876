import { payFromNode } from '@penstock/cluster/regtest/pay-from-node.ts'
import { waitForResult } from '@penstock/servers/lightning-daemon.ts'
import type { OrderStatus } from '@penstock/contracts/order/lifecycle.ts'
import { buyChannel } from '../../support/market-client.ts'
import { readMetrics } from '../../observability/metrics.ts'
import { type OrderModel, buildOrderModels } from '../../support/invariants/order-model.ts'
import type { LightningCampaignState } from './final-checks.ts'
import type { ExclusiveMiner } from './guarded-miner.ts'
import { UNUSED_CONFIRMATIONS, type LastHeightPlan, LAST_HEIGHT_FAULT_BLOCKS, type LastHeightFault } from './fault-plan.ts'
import { readConfirmations, listHeldOrders, killNow } from './inject-faults.ts'
import type { LastHeightRun } from './coverage.ts'

/** Blocks before an HTLC's expiry at which the guard settles or cancels; lnd itself cancels 12 blocks later. */
const GUARD_BLOCKS = 24
/**
 * The number of blocks before the last height at which the outpoints are submitted. The market refuses later outpoints. A funding
 * has 20 blocks to confirm. After its first confirmation, a re-organisation does not make it late.
 */
const BLOCKS_LEFT_AT_OUTPOINT = 34
/** The number of blocks before the last height at which a re-organisation removes the first confirmation. */
const BLOCKS_LEFT_AT_REORG = 16

export type LastHeightResult = { readonly run: LastHeightRun; readonly faults: readonly string[] }

type HeldOrder = { readonly id: string; readonly paymentHash: string; readonly buyer: string; readonly lastHeight: number }
/** A held order whose funding transaction is unconfirmed. */
type FundedOrder = HeldOrder & { readonly outpoint: string; readonly rawTransaction: string }

/**
 * Runs two held payments to a common last height under faults. Both fundings are submitted late, and a re-organisation removes
 * their first confirmation. So neither channel can be proven before the last height. At that height the first funding has just
 * enough confirmations for nodes to use its channel, and the second funding has none. The market must settle the first payment
 * and cancel the second payment.
 */
export async function runToLastHeight(context: LightningCampaignState, plan: LastHeightPlan): Promise<LastHeightResult> {
  const { network, agents } = context.regtest
  const sellers = network.nodesWithRole('seller').map(({ alias }) => alias)
  const unpaid = [await buyFrom(context, plan.confirmedBuyer), await buyFrom(context, plan.unconfirmedBuyer)] as const
  // Sellers are stopped until the fundings are due. Otherwise they would open at once, and their channels would be proven early.
  for (const alias of sellers) await agents.stop(alias)
  return context.miner.runExclusively(async (blocks) => {
    const heldOrders = [await payAndReadHold(context, unpaid[0]), await payAndReadHold(context, unpaid[1])] as const
    const [{ lastHeight }] = heldOrders
    if (heldOrders[1].lastHeight !== lastHeight) throw new Error('the last heights differ, although no block was mined')
    for (const { id } of heldOrders) await waitUntilOpeningRequested(context, id)
    await blocks.mine(lastHeight - BLOCKS_LEFT_AT_OUTPOINT - (await readChainHeight(context)))
    for (const alias of sellers) agents.start(alias)
    const settledOrder = await waitUntilFunded(context, heldOrders[0])
    const cancelledOrder = await waitUntilFunded(context, heldOrders[1])
    await confirmAndReorg(context, [settledOrder, cancelledOrder], blocks)
    await blocks.extend(lastHeight - LAST_HEIGHT_FAULT_BLOCKS - (await readChainHeight(context)))
    await network.servers.waitUntilSynced()
    await waitUntilMarketAt(context, lastHeight - LAST_HEIGHT_FAULT_BLOCKS)
    const { struck: injected, reachedAt } = await mineToLastHeight(context, plan, settledOrder, blocks)
    await blocks.waitUntilGuarded()
    const violations = [
      ...(await checkEnding(context, settledOrder, 'succeeded', 'VALID_CHANNEL_OPENING', reachedAt)),
      ...(await checkEnding(context, cancelledOrder, 'failed', 'SELLER_FAILED_TO_SEND_SWAP', reachedAt)),
    ]
    const isSettled = ((await findOrderModel(context, settledOrder.id))?.settlements.length ?? 0) > 0
    const isCancelled = ((await findOrderModel(context, cancelledOrder.id))?.cancellations.length ?? 0) > 0
    return {
      run: {
        faults: injected,
        isSettled: isSettled && violations.length === 0,
        isCancelled: isCancelled && violations.length === 0,
      },
      faults: violations,
    }
  })
}

type UnpaidOrder = { readonly id: string; readonly invoice: string; readonly buyer: string }

async function buyFrom({ regtest }: LightningCampaignState, alias: string): Promise<UnpaidOrder> {
  const { info, lnd } = regtest.network.nodeByAlias(alias)
  const { id, invoice } = await buyChannel(regtest, { connection_uri: `${info.pubkey}@${lnd.socket}` })
  return { id, invoice, buyer: alias }
}

async function payAndReadHold(
  { regtest: { network } }: LightningCampaignState,
  { id, invoice, buyer }: UnpaidOrder,
): Promise<HeldOrder> {
  const { payment_hash: paymentHash } = await payFromNode(network, network.nodeByAlias(buyer), invoice)
  const hold = await network.nodeByAlias('market').lightning.holds.find(paymentHash)
  const expiryHeights = hold?.htlcs.map(({ expiryHeight }) => expiryHeight) ?? []
  return { id, paymentHash, buyer, lastHeight: Math.min(...expiryHeights) - GUARD_BLOCKS }
}

const waitUntilOpeningRequested = ({ regtest }: LightningCampaignState, id: string) =>
  waitForResult(`the request to open for ${id}`, async () =>
    JSON.stringify(await regtest.operator('GET', `/orders/${id}`)).includes('"ChannelOpenRequested"'),
  )

async function waitUntilFunded(context: LightningCampaignState, heldOrder: HeldOrder): Promise<FundedOrder> {
  await waitUntilStatus(context, heldOrder.id, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
  const outpoint = (await findOrderModel(context, heldOrder.id))?.registeredOutpoint?.outpoint ?? ''
  const rawTransaction = await context.regtest.network.servers.chain.rpc<string>('getrawtransaction', outpoint.split(':')[0], 0)
  return { ...heldOrder, outpoint, rawTransaction }
}

/** Confirms both fundings within their time limit, and moves them back to the mempool, where the limit no longer applies. */
async function confirmAndReorg(
  context: LightningCampaignState,
  orders: readonly FundedOrder[],
  blocks: ExclusiveMiner,
): Promise<void> {
  const [{ lastHeight } = { lastHeight: 0 }] = orders
  await blocks.extend(lastHeight - BLOCKS_LEFT_AT_REORG - 1 - (await readChainHeight(context)))
  await blocks.extend(
    1,
    orders.map(({ rawTransaction }) => rawTransaction),
  )
  for (const { id } of orders) await waitUntilStatus(context, id, 'ON_CHAIN_CONFIRMATION')
  await blocks.replace(1)
  for (const { id } of orders) await waitUntilStatus(context, id, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
}

/**
 * Mines blocks up to the last height, with the planned faults between them. Below that height the guard need not act, so the next
 * block waits only for victims with `restartsFirst`. A re-organisation at the last height adds one more block.
 * @returns the injected faults, and the time in milliseconds just before the chain reached the last height
 */
async function mineToLastHeight(
  context: LightningCampaignState,
  { faults }: LastHeightPlan,
  { lastHeight, outpoint, rawTransaction }: FundedOrder,
  blocks: ExclusiveMiner,
) {
  const remaining = [...faults]
  const injected: LastHeightRun['faults'][number][] = []
  let reachedAt = Number.POSITIVE_INFINITY
  const recordHeight = (height: number): void => {
    if (height >= lastHeight) reachedAt = Math.min(reachedAt, Date.now())
  }
  const confirmedAt = lastHeight - UNUSED_CONFIRMATIONS
  for (let height = await readChainHeight(context); ; height = await readChainHeight(context)) {
    const [fault] = remaining
    if (fault && fault.blocksLeft >= lastHeight - height) {
      remaining.shift()
      if (fault.kind === 'reorg') recordHeight(height + 1)
      injected.push(
        await injectNow(context, fault, (depth) =>
          replaceBlocks(context, { depth, outpoint, rawTransaction, confirmedAt }, blocks),
        ),
      )
      continue
    }
    if (height >= lastHeight) return { struck: injected, reachedAt }
    const isConfirmationDue = height + 1 >= confirmedAt && (await readConfirmations(context, outpoint)) === 0
    recordHeight(height + 1)
    await blocks.extend(1, isConfirmationDue ? [rawTransaction] : [])
  }
}

type BlockReplacement = Pick<FundedOrder, 'outpoint' | 'rawTransaction'> & {
  readonly depth: number
  readonly confirmedAt: number
}

/**
 * Replaces the newest `depth` blocks. The new branch contains the funding at the height `confirmedAt`, so the funding still has
 * its third confirmation at the last height. Nodes use a channel from its third confirmation on.
 */
async function replaceBlocks(
  context: LightningCampaignState,
  { depth, outpoint, rawTransaction, confirmedAt }: BlockReplacement,
  blocks: ExclusiveMiner,
): Promise<void> {
  const height = await readChainHeight(context)
  const first = height - depth + 1
  const staysConfirmed = (await readConfirmations(context, outpoint)) > depth
  if (staysConfirmed || confirmedAt > height + 1) return blocks.replace(depth)
  return blocks.replace(depth, [rawTransaction], Math.max(confirmedAt - first, 0) + 1)
}

async function injectNow(
  context: LightningCampaignState,
  fault: LastHeightFault,
  replace: (depth: number) => Promise<void>,
): Promise<LastHeightRun['faults'][number]> {
  if (fault.kind === 'reorg') {
    const heldCount = (await listHeldOrders(context)).length
    await replace(fault.depth)
    return { kind: 'a re-org of two blocks', heldCount }
  }
  const { victim, heldCount } = await killNow(context, fault.victim)
  if (fault.restartsFirst) await waitUntilMarketAt(context, await readChainHeight(context))
  return { kind: victim, heldCount }
}

/** Checks that the market decided about the hold at its last height and not before, and that the decision is the expected one. */
async function checkEnding(
  context: LightningCampaignState,
  { id, paymentHash, buyer, lastHeight }: FundedOrder,
  expectedState: 'succeeded' | 'failed',
  status: OrderStatus,
  reachedAt: number,
): Promise<readonly string[]> {
  const { network, operator } = context.regtest
  const state = await waitForResult("the end of the buyer's payment", async () => {
    const payment = await network.nodeByAlias(buyer).lightning.payments.find(paymentHash)
    return payment?.state !== 'in-flight' && (payment?.state ?? 'unknown')
  })
  const report = await waitForResult('the end of the order', async () => {
    const order = await operator<{ status: string; payment_status: string | null }>('GET', `/orders/${id}`)
    return !UNFINISHED.has(order.status) && order
  })
  await context.fold.catchUp()
  const decisions = context.fold.events.filter(
    ({ category, aggregateId, fact }) =>
      category === 'settlement' && aggregateId === id && (fact.type === 'SettlementStarted' || fact.type === 'CancelRequested'),
  )
  const expectedPaymentStatus = status === 'VALID_CHANNEL_OPENING' ? 'SUCCESSFUL_PAYMENT' : 'HODL_INVOICE_TIMEOUT'
  return [
    ...decisions
      .filter(({ at }) => at < reachedAt)
      .map(({ fact }) => `order ${id}: ${fact.type} before its last height ${lastHeight}`),
    ...(state === expectedState
      ? []
      : [`order ${id} reached its last height, and its payment is ${state} at the buyer, not ${expectedState}`]),
    ...(report.status === status ? [] : [`order ${id} reached its last height, and is ${report.status}, not ${status}`]),
    ...(report.payment_status === expectedPaymentStatus
      ? []
      : [`order ${id} reached its last height, and reports ${report.payment_status}`]),
  ]
}

const UNFINISHED = new Set(['WAITING_FOR_ON_CHAIN_CONFIRMATION', 'ON_CHAIN_CONFIRMATION', 'SELLER_OPENED_CHANNEL'])

const waitUntilStatus = (context: LightningCampaignState, id: string, status: OrderStatus) =>
  waitForResult(`order ${id} is ${status}`, async () => (await findOrderModel(context, id))?.status === status)

async function findOrderModel({ fold }: LightningCampaignState, id: string): Promise<OrderModel | undefined> {
  await fold.catchUp()
  return buildOrderModels(fold.events).find((order) => order.id === id)
}

const readChainHeight = ({ regtest: { network } }: LightningCampaignState) => network.servers.chain.rpc<number>('getblockcount')

/** Waits until the market and its lnd run and have seen the block at this height. */
const waitUntilMarketAt = (context: LightningCampaignState, height: number) =>
  waitForResult(`the market is at ${height}`, async () => {
    const { synced, height: nodeHeight } = await context.regtest.network.nodeByAlias('market').lightning.info()
    return synced && nodeHeight === height && (await readMarketTipHeight(context)) === height
  })

/** Reads the height of the chain tip that the market knows, from a metric that is at most some seconds old. */
const readMarketTipHeight = async ({ regtest }: LightningCampaignState): Promise<number> =>
  (await readMetrics(regtest)).max({ name: 'penstock_chain_tip_height' })
