import { setTimeout as sleep } from 'node:timers/promises'
import type { NodeBehaviour } from '@penstock/adapters/simnet/nodes.ts'
import { sendGraphql, type SimulatedNode } from '../support/market-client.ts'
import type { Product } from '../support/product.ts'
import type { RetryingClient } from './retrying-client.ts'
import type { RoundPlan, PlannedPurchase, NetworkChange } from './round-plan.ts'
import { SELLER_POLL_MS, type BehaviourEntry } from './behaviour-log.ts'
import { setAndLogBehaviour } from './set-behaviour.ts'
import { readYoungestConfirmations } from '../support/invariants/network-state.ts'
import { BUY_MUTATION, type BuyMutationData, CANCEL_MUTATION } from '../support/market-operations.ts'

export type ChaosBuyer = Pick<SimulatedNode, 'alias' | 'uri' | 'pubkey'>

/** Pays an invoice from a buyer's node. */
export type PayInvoice = (product: Product, invoice: string, buyer: ChaosBuyer) => Promise<unknown>

const payFromSimulatedWallet: PayInvoice = (product, invoice, { alias }) =>
  product.operator('POST', '/sim/pay', { invoice, from: alias })

/** The time from the start of a round during which buyers retry. */
const RETRY_FOR_MS = 16_000

/** The ids of orders with an invoice, one refusal per purchase without an order, and the changes of node behaviours. */
export type WorkloadResult = {
  readonly boughtIds: readonly string[]
  readonly refusals: readonly string[]
  readonly behaviourLog: readonly BehaviourEntry[]
}

/** Returns whether an order since `sinceMs` has the fact that this behaviour of its seller leads to. */
export type IsBehaviourShown = (how: NodeBehaviour, sinceMs: number) => Promise<boolean>

/** Runs the purchases and network changes of the plan. */
export async function runWorkload(
  market: RetryingClient,
  plan: Pick<RoundPlan, 'purchases' | 'networkChanges'>,
  nodes: readonly ChaosBuyer[],
  retryForMs = RETRY_FOR_MS,
  payInvoice = payFromSimulatedWallet,
  isBehaviourShown: IsBehaviourShown = () => Promise.resolve(true),
): Promise<WorkloadResult> {
  const startedAt = performance.now()
  const deadline = startedAt + retryForMs
  const behaviourLog: BehaviourEntry[] = []
  const [outcomes] = await Promise.all([
    Promise.all(plan.purchases.map((purchase) => makePurchase(market, purchase, nodes, deadline, payInvoice))),
    ...plan.networkChanges.map((changes) =>
      applyChanges({ market, startedAt, deadline, behaviourLog, isBehaviourShown }, changes),
    ),
  ])
  return {
    boughtIds: outcomes.flatMap((outcome) => ('id' in outcome ? [outcome.id] : [])),
    refusals: outcomes.flatMap((outcome) => ('refused' in outcome ? [outcome.refused] : [])),
    behaviourLog,
  }
}

type ChangeContext = {
  readonly market: RetryingClient
  readonly startedAt: number
  readonly deadline: number
  readonly behaviourLog: BehaviourEntry[]
  readonly isBehaviourShown: IsBehaviourShown
}

/** Applies all changes in order. A change that is late because the market was down still applies, so no node stays silent. */
async function applyChanges(context: ChangeContext, networkChanges: readonly NetworkChange[]): Promise<void> {
  const { startedAt, isBehaviourShown } = context
  for (const change of networkChanges.toSorted((a, b) => a.atMs - b.atMs)) {
    await sleep(Math.max(0, startedAt + change.atMs - performance.now()))
    await applyChange(context, change)
    if (change.kind !== 'behave' || change.lastsMs === undefined) continue
    const since = Date.now()
    await sleep(change.lastsMs)
    for (
      const end = performance.now() + SHOWN_WITHIN_MS;
      performance.now() < end && !(await isBehaviourShown(change.behaviour, since));
    )
      await sleep(SHOWN_EVERY_MS)
    // A change before the seller's next poll would make the behaviour uncertain, so the next change waits for a poll.
    await sleep(SELLER_POLL_MS)
  }
}

/** The wait is long, because a market that is down sends no requests to sellers. */
const SHOWN_WITHIN_MS = 200_000
const SHOWN_EVERY_MS = 250

async function applyChange({ market, deadline, behaviourLog }: ChangeContext, change: NetworkChange): Promise<void> {
  // If the answer is lost, the request is repeated, and the chain is re-organised twice.
  if (change.kind === 'reorg')
    await market.call(async (product) => {
      await waitForYoungFunding(product, change.depth)
      return product.operator('POST', '/sim/reorg', { depth: change.depth })
    }, deadline)
  else behaviourLog.push(await setAndLogBehaviour((request) => market.call(request, deadline), change))
}

/** The wait for a young funding is long, because on a busy machine the first funding of a round is late. */
const YOUNG_FUNDING_TIMEOUT_MS = 15_000
const YOUNG_FUNDING_POLL_MS = 20

/** Waits for a funding that a re-organisation of this depth removes, because other re-organisations test little. */
async function waitForYoungFunding({ dataDir }: Product, depth: number): Promise<void> {
  const end = performance.now() + YOUNG_FUNDING_TIMEOUT_MS
  while (performance.now() < end && !readYoungestConfirmations(dataDir).some((blocks) => blocks >= 2 && blocks <= depth))
    await sleep(YOUNG_FUNDING_POLL_MS)
}

async function makePurchase(
  market: RetryingClient,
  purchase: PlannedPurchase,
  nodes: readonly ChaosBuyer[],
  deadline: number,
  payInvoice: PayInvoice,
): Promise<{ readonly id: string } | { readonly refused: string }> {
  const { atMs, buyer, afterwards, afterMs } = purchase
  const node = nodes.find(({ alias }) => alias === buyer)
  if (!node) throw new Error(`the network has no node ${buyer}`)
  await sleep(atMs)
  let placed: PlacedPurchase
  try {
    placed = await market.call(
      (product) => (purchase.api === 'buy' ? buyByGraphql : buyByLsps1)(product, purchase, node),
      deadline,
    )
  } catch (error) {
    return { refused: String(error) } // If the order was placed and only the answer was lost, the order expires unpaid.
  }
  await sleep(afterMs)
  const { id, invoice, key } = placed
  // The payment may be retried for the full time, even if the invoice was late.
  const payDeadline = Math.max(deadline, performance.now()) + RETRY_FOR_MS
  const payOnce = () => market.call((product) => payInvoice(product, invoice, node), payDeadline)
  if (afterwards === 'pay') await payOnce()
  if (afterwards === 'pay twice') await Promise.all([payOnce(), payOnce()])
  if (afterwards === 'cancel' && key !== null) {
    const data = { order_id: id, cancellation_reason: 'UNABLE_TO_PAY' }
    await market.call((product) => sendGraphql(product.url, CANCEL_MUTATION, { input: data }, key), payDeadline)
  }
  return { id }
}

type PlacedPurchase = { readonly id: string; readonly invoice: string; readonly key: string | null }

async function buyByGraphql(
  product: Product,
  { usdCents, options }: PlannedPurchase,
  { uri }: ChaosBuyer,
): Promise<PlacedPurchase> {
  const input = { connection_uri: uri, usd_cents: usdCents, options }
  const { data, errors } = await sendGraphql<BuyMutationData>(product.url, BUY_MUTATION, { input })
  if (!data?.liquidity.buy) throw new Error(errors?.[0]?.message ?? 'no order')
  const { account, order, payment } = data.liquidity.buy
  return { id: order.transaction_id, invoice: payment.lightning_invoice, key: account.session_key }
}

/** Buys by LSPS1. The buyer cannot cancel such an order, because LSPS1 gives it no session key. */
async function buyByLsps1(
  { url }: Product,
  { usdCents, options }: PlannedPurchase,
  { pubkey }: ChaosBuyer,
): Promise<PlacedPurchase> {
  const response = await fetch(`${url}/api/lsp/v1/${options.rails_cluster_only ? 'recommended' : 'cheapest'}/create_order`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      lsp_balance_sat: `${usdCents}000`,
      client_balance_sat: '0',
      required_channel_confirmations: 3,
      funding_confirms_within_blocks: 20,
      channel_expiry_blocks: 100,
      token: '',
      announce_channel: !options.private,
      public_key: pubkey,
    }),
  })
  // The response is an order of bLIP-51, or an error with a message.
  const lspAnswer = (await response.json()) as { order_id?: string; message?: string; payment?: { bolt11: { invoice: string } } }
  if (!lspAnswer.order_id || !lspAnswer.payment) throw new Error(lspAnswer.message ?? 'no order')
  return { id: lspAnswer.order_id, invoice: lspAnswer.payment.bolt11.invoice, key: null }
}
