import { setTimeout as sleep } from 'node:timers/promises'
import type { Behaviour } from '@penstock/adapters/simnet/nodes.ts'
import { graphql, type SimNode } from '../harness/buyer.ts'
import type { Product } from '../harness/product.ts'
import type { Mortal } from './mortal.ts'
import type { Plan, Purchase, Weather } from './plan.ts'
import { LOOKS_WITHIN_MS, tell, type Told } from './told.ts'
import { youngestFundings } from './truth.ts'

const BUY = `mutation ($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  account { session_key } order { transaction_id } payment { lightning_invoice } } } }`
const CANCEL = 'mutation ($input: CancelOrderInput!) { market { order { cancel(input: $input) { success } } } }'

type Buy = {
  readonly liquidity: {
    readonly buy: {
      readonly account: { readonly session_key: string }
      readonly order: { readonly transaction_id: string }
      readonly payment: { readonly lightning_invoice: string }
    } | null
  }
}

export type Buyer = Pick<SimNode, 'alias' | 'uri' | 'pubkey'>

/** Pays an invoice from a buyer's node. */
export type Pay = (product: Product, invoice: string, buyer: Buyer) => Promise<unknown>

const bySimulatedWallet: Pay = (product, invoice, { alias }) => product.operator('POST', '/sim/pay', { invoice, from: alias })

/** How long after the beginning of a round a buyer goes on asking. */
const PATIENCE_MS = 16_000

/** The orders that buyers were told, each with an invoice; what the others heard last; and how nodes were told to behave. */
export type Acted = { readonly bought: readonly string[]; readonly refusals: readonly string[]; readonly told: readonly Told[] }

/** Whether an order shows that its seller has behaved so since. */
export type IsShown = (how: Behaviour, sinceMs: number) => Promise<boolean>

/** Lets the plan happen. */
export async function act(
  market: Pick<Mortal, 'call'>,
  plan: Pick<Plan, 'purchases' | 'weather'>,
  nodes: readonly Buyer[],
  patienceMs = PATIENCE_MS,
  pay = bySimulatedWallet,
  isShown: IsShown = () => Promise.resolve(true),
): Promise<Acted> {
  const begun = performance.now()
  const until = begun + patienceMs
  const told: Told[] = []
  const [outcomes] = await Promise.all([
    Promise.all(plan.purchases.map((purchase) => buy(market, purchase, nodes, until, pay))),
    ...plan.weather.map((changes) => happenAll({ market, begun, until, told, isShown }, changes)),
  ])
  return {
    bought: outcomes.flatMap((outcome) => ('id' in outcome ? [outcome.id] : [])),
    refusals: outcomes.flatMap((outcome) => ('refused' in outcome ? [outcome.refused] : [])),
    told,
  }
}

type Happening = {
  readonly market: Pick<Mortal, 'call'>
  readonly begun: number
  readonly until: number
  readonly told: Told[]
  readonly isShown: IsShown
}

/** One after the other, also where the market was down for long: its node must not fall silent after it was to speak again. */
async function happenAll(happening: Happening, weather: readonly Weather[]): Promise<void> {
  const { begun, isShown } = happening
  for (const change of weather.toSorted((a, b) => a.atMs - b.atMs)) {
    await sleep(Math.max(0, begun + change.atMs - performance.now()))
    await happen(happening, change)
    if (change.what !== 'behave' || change.lastsMs === undefined) continue
    const since = Date.now()
    await sleep(change.lastsMs)
    for (const end = performance.now() + SHOWN_WITHIN_MS; performance.now() < end && !(await isShown(change.how, since));)
      await sleep(SHOWN_EVERY_MS)
    // Who is told otherwise while a seller's program comes to look behaved for certain neither way.
    await sleep(LOOKS_WITHIN_MS)
  }
}

/** Where the market was down meanwhile, nobody was asked for anything. */
const SHOWN_WITHIN_MS = 200_000
const SHOWN_EVERY_MS = 250

async function happen({ market, until, told }: Happening, change: Weather): Promise<void> {
  // A re-org whose answer was lost may happen twice, as in the world.
  if (change.what === 'reorg')
    await market.call(async (product) => {
      await aimed(product, change.depth)
      return product.operator('POST', '/sim/reorg', { depth: change.depth })
    }, until)
  else told.push(await tell((ask) => market.call(ask, until), change))
}

const AIM_WITHIN_MS = 4000
const AIM_EVERY_MS = 20

/** One that takes nothing back shows little, so it comes when a funding is there that was seen in a block already. */
async function aimed({ dataDir }: Product, depth: number): Promise<void> {
  const end = performance.now() + AIM_WITHIN_MS
  while (performance.now() < end && !youngestFundings(dataDir).some((blocks) => blocks >= 2 && blocks <= depth))
    await sleep(AIM_EVERY_MS)
}

async function buy(
  market: Pick<Mortal, 'call'>,
  purchase: Purchase,
  nodes: readonly Buyer[],
  until: number,
  payWith: Pay,
): Promise<{ readonly id: string } | { readonly refused: string }> {
  const { atMs, buyer, then, afterMs } = purchase
  const node = nodes.find(({ alias }) => alias === buyer)
  if (!node) throw new Error(`there is no ${buyer}`)
  await sleep(atMs)
  let order: Bought
  try {
    order = await market.call((product) => (purchase.by === 'buy' ? byGraphql : byLsps1)(product, purchase, node), until)
  } catch (error) {
    return { refused: String(error) } // Nobody sold, or nobody answered: an order that was begun nevertheless is unpaid, and expires.
  }
  await sleep(afterMs)
  const { id, invoice, key } = order
  // However late they were told the invoice.
  const goesOnUntil = Math.max(until, performance.now()) + PATIENCE_MS
  const pay = () => market.call((product) => payWith(product, invoice, node), goesOnUntil)
  if (then === 'pay') await pay()
  if (then === 'pay twice') await Promise.all([pay(), pay()])
  if (then === 'cancel' && key !== null) {
    const data = { order_id: id, cancellation_reason: 'UNABLE_TO_PAY' }
    await market.call((product) => graphql(product.url, CANCEL, { input: data }, key), goesOnUntil)
  }
  return { id }
}

type Bought = { readonly id: string; readonly invoice: string; readonly key: string | null }

async function byGraphql(product: Product, { usdCents, options }: Purchase, { uri }: Buyer): Promise<Bought> {
  const input = { connection_uri: uri, usd_cents: usdCents, options }
  const { data, errors } = await graphql<Buy>(product.url, BUY, { input })
  if (!data?.liquidity.buy) throw new Error(errors?.[0]?.message ?? 'no order')
  const { account, order, payment } = data.liquidity.buy
  return { id: order.transaction_id, invoice: payment.lightning_invoice, key: account.session_key }
}

/** Nobody can cancel such an order: a wallet has no key to it. */
async function byLsps1({ url }: Product, { usdCents, options }: Purchase, { pubkey }: Buyer): Promise<Bought> {
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
  // bLIP-51's shape, or an error
  const answer = (await response.json()) as { order_id?: string; message?: string; payment?: { bolt11: { invoice: string } } }
  if (!answer.order_id || !answer.payment) throw new Error(answer.message ?? 'no order')
  return { id: answer.order_id, invoice: answer.payment.bolt11.invoice, key: null }
}
