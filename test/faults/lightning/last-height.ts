import { pay } from '@penstock/cluster/regtest/pay.ts'
import { until } from '@penstock/servers/lightning-process.ts'
import type { OrderStatus } from '@penstock/kernel/order-status.ts'
import { buy } from '../../harness/buyer.ts'
import { metricsOf } from '../../observability/metrics.ts'
import { type Book, booksOf } from '../books.ts'
import type { World } from './look.ts'
import type { OwnBlocks } from './miner.ts'
import { UNUSED_CONFIRMATIONS, type Way, WAY_BLOCKS, type WayBlow } from './plan.ts'
import { confirmationsOf, heldNow, killNow } from './strike.ts'
import type { Walk } from './struck.ts'

/** Blocks before the end of a payment at which the guard has settled it or given it back; lnd by itself waits 12 more. */
const GUARD_BLOCKS = 24
/** Below that a funding is refused as too late. What is named has 20 blocks to confirm, and is never late after a re-org. */
const NAMED_LEFT = 34
const TAKEN_BACK_LEFT = 16

export type Walked = { readonly walk: Walk; readonly faults: readonly string[] }

/** An order whose payment is held. */
type Held = { readonly id: string; readonly hash: string; readonly buyer: string; readonly lastHeight: number }
/** Its funding waits for a block. */
type Funded = Held & { readonly outpoint: string; readonly raw: string }

/**
 * Two payments come to one last height under blows. Both fundings are named late and lose their first block to a re-org, so
 * that neither channel is deep enough to be proven before; by the last height one is confirmed again just so often that nodes
 * use it, the other is not. There the first has to be taken and the second given back, whoever was just killed.
 */
export async function toLastHeight(world: World, way: Way): Promise<Walked> {
  const { network, agents } = world.regtest
  const sellers = network.having('seller').map(({ alias }) => alias)
  const bought = [await buyAs(world, way.confirmed), await buyAs(world, way.unconfirmed)] as const
  // Who is asked early would have to be proven early.
  for (const alias of sellers) await agents.stop(alias)
  return world.miner.alone(async (blocks) => {
    const held = [await holdOf(world, bought[0]), await holdOf(world, bought[1])] as const
    const [{ lastHeight }] = held
    if (held[1].lastHeight !== lastHeight) throw new Error('no block was made, and the payments end at different heights')
    for (const { id } of held) await asked(world, id)
    await blocks.mine(lastHeight - NAMED_LEFT - (await heightOf(world)))
    for (const alias of sellers) agents.start(alias)
    const taken = await funded(world, held[0])
    const givenBack = await funded(world, held[1])
    await takenBack(world, [taken, givenBack], blocks)
    await blocks.extend(lastHeight - WAY_BLOCKS - (await heightOf(world)))
    await network.servers.inStep()
    await marketAt(world, lastHeight - WAY_BLOCKS)
    const { struck, reachedAt } = await walk(world, way, taken, blocks)
    await blocks.guarded()
    const faults = [
      ...(await endFaults(world, taken, 'succeeded', 'VALID_CHANNEL_OPENING', reachedAt)),
      ...(await endFaults(world, givenBack, 'failed', 'SELLER_FAILED_TO_SEND_SWAP', reachedAt)),
    ]
    const isTaken = ((await bookOf(world, taken.id))?.settled.length ?? 0) > 0
    const isGivenBack = ((await bookOf(world, givenBack.id))?.cancelled.length ?? 0) > 0
    return {
      walk: { blows: struck, isTaken: isTaken && faults.length === 0, isGivenBack: isGivenBack && faults.length === 0 },
      faults,
    }
  })
}

type Bought = { readonly id: string; readonly invoice: string; readonly buyer: string }

async function buyAs({ regtest }: World, alias: string): Promise<Bought> {
  const { info, node } = regtest.network.person(alias)
  const { id, invoice } = await buy(regtest, { connection_uri: `${info.pubkey}@${node.socket}` })
  return { id, invoice, buyer: alias }
}

async function holdOf({ regtest: { network } }: World, { id, invoice, buyer }: Bought): Promise<Held> {
  const { payment_hash: hash } = await pay(network, network.person(buyer), invoice)
  const hold = await network.person('market').lightning.holds.find(hash)
  const ends = hold?.htlcs.map(({ expiryHeight }) => expiryHeight) ?? []
  return { id, hash, buyer, lastHeight: Math.min(...ends) - GUARD_BLOCKS }
}

const asked = ({ regtest }: World, id: string) =>
  until(`a seller is asked for ${id}`, async () =>
    JSON.stringify(await regtest.operator('GET', `/orders/${id}`)).includes('"OpeningAsked"'),
  )

async function funded(world: World, held: Held): Promise<Funded> {
  await reaches(world, held.id, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
  const outpoint = (await bookOf(world, held.id))?.noted?.outpoint ?? ''
  const raw = await world.regtest.network.servers.chain.rpc<string>('getrawtransaction', outpoint.split(':')[0], 0)
  return { ...held, outpoint, raw }
}

/** Both are confirmed once, just in time, and go back to the mempool, where they may wait beyond their last height. */
async function takenBack(world: World, orders: readonly Funded[], blocks: OwnBlocks): Promise<void> {
  const [{ lastHeight } = { lastHeight: 0 }] = orders
  await blocks.extend(lastHeight - TAKEN_BACK_LEFT - 1 - (await heightOf(world)))
  await blocks.extend(
    1,
    orders.map(({ raw }) => raw),
  )
  for (const { id } of orders) await reaches(world, id, 'ON_CHAIN_CONFIRMATION')
  await blocks.replace(1)
  for (const { id } of orders) await reaches(world, id, 'WAITING_FOR_ON_CHAIN_CONFIRMATION')
}

/**
 * Blocks up to the last height, with blows between them. Nothing has to be done about either payment below it, so that the
 * next block waits only for whom the plan lets come back. With the last height it is the guard's turn: no block follows
 * before both payments are gone, or the miner has waited for long enough to call it a fault. A re-org that strikes right
 * there is one block more that came at once.
 * @returns what struck, and when the chain was told to reach the last height
 */
async function walk(world: World, { blows }: Way, { lastHeight, outpoint, raw }: Funded, blocks: OwnBlocks) {
  const left = [...blows]
  const struck: Walk['blows'][number][] = []
  let reachedAt = Number.POSITIVE_INFINITY
  const reach = (height: number): void => {
    if (height >= lastHeight) reachedAt = Math.min(reachedAt, Date.now())
  }
  const confirmedAt = lastHeight - UNUSED_CONFIRMATIONS
  for (let height = await heightOf(world); ; height = await heightOf(world)) {
    const [blow] = left
    if (blow && blow.left >= lastHeight - height) {
      left.shift()
      if (blow.what === 'reorg') reach(height + 1)
      struck.push(await strikeNow(world, blow, (depth) => replaceAt(world, { depth, outpoint, raw, confirmedAt }, blocks)))
      continue
    }
    if (height >= lastHeight) return { struck, reachedAt }
    const isDue = height + 1 >= confirmedAt && (await confirmationsOf(world, outpoint)) === 0
    reach(height + 1)
    await blocks.extend(1, isDue ? [raw] : [])
  }
}

type Replaced = Pick<Funded, 'outpoint' | 'raw'> & { readonly depth: number; readonly confirmedAt: number }

/** Nodes use a channel from its third confirmation on, and the funding has that one at the last height on any branch. */
async function replaceAt(world: World, { depth, outpoint, raw, confirmedAt }: Replaced, blocks: OwnBlocks): Promise<void> {
  const height = await heightOf(world)
  const first = height - depth + 1
  const isKept = (await confirmationsOf(world, outpoint)) > depth
  if (isKept || confirmedAt > height + 1) return blocks.replace(depth)
  return blocks.replace(depth, [raw], Math.max(confirmedAt - first, 0) + 1)
}

async function strikeNow(world: World, blow: WayBlow, replace: (depth: number) => Promise<void>): Promise<Walk['blows'][number]> {
  if (blow.what === 'reorg') {
    const held = (await heldNow(world)).length
    await replace(blow.depth)
    return { what: 'a re-org of two blocks', held }
  }
  const { who, held } = await killNow(world, blow.whom)
  if (blow.isBack) await marketAt(world, await heightOf(world))
  return { what: who, held }
}

/** What was said, and when: nothing before the last height, and then what the chain shows. */
async function endFaults(
  world: World,
  { id, hash, buyer, lastHeight }: Funded,
  wanted: 'succeeded' | 'failed',
  status: OrderStatus,
  reachedAt: number,
): Promise<readonly string[]> {
  const { network, operator } = world.regtest
  const state = await until('the payer knows', async () => {
    const payment = await network.person(buyer).lightning.payments.find(hash)
    return payment?.state !== 'in-flight' && (payment?.state ?? 'unknown')
  })
  const report = await until('the order is over', async () => {
    const now = await operator<{ status: string; payment_status: string | null }>('GET', `/orders/${id}`)
    return !BEFORE.has(now.status) && now
  })
  await world.fold.catchUp()
  const words = world.fold.events.filter(
    ({ category, aggregateId, fact }) =>
      category === 'settlement' && aggregateId === id && (fact.type === 'SettleRequested' || fact.type === 'CancelRequested'),
  )
  const told = status === 'VALID_CHANNEL_OPENING' ? 'SUCCESSFUL_PAYMENT' : 'HODL_INVOICE_TIMEOUT'
  return [
    ...words
      .filter(({ at }) => at < reachedAt)
      .map(({ fact }) => `order ${id}: ${fact.type} before its last height ${lastHeight}`),
    ...(state === wanted ? [] : [`order ${id} came to its last height, and its payment is ${state} at the payer, not ${wanted}`]),
    ...(report.status === status ? [] : [`order ${id} came to its last height, and is ${report.status}, not ${status}`]),
    ...(report.payment_status === told ? [] : [`order ${id} came to its last height, and tells ${report.payment_status}`]),
  ]
}

const BEFORE = new Set(['WAITING_FOR_ON_CHAIN_CONFIRMATION', 'ON_CHAIN_CONFIRMATION', 'SELLER_OPENED_CHANNEL'])

const reaches = (world: World, id: string, status: OrderStatus) =>
  until(`order ${id} is ${status}`, async () => (await bookOf(world, id))?.status === status)

async function bookOf({ fold }: World, id: string): Promise<Book | undefined> {
  await fold.catchUp()
  return booksOf(fold.events).find((book) => book.id === id)
}

const heightOf = ({ regtest: { network } }: World) => network.servers.chain.rpc<number>('getblockcount')

/** Its process answers, and so does its lnd, and both have seen this block. */
const marketAt = (world: World, height: number) =>
  until(`the market is at ${height}`, async () => {
    const { synced, height: seen } = await world.regtest.network.person('market').lightning.info()
    return synced && seen === height && (await tipHeight(world)) === height
  })

/** Of the chain that the market follows, as it stood some seconds ago at the most. */
const tipHeight = async ({ regtest }: World): Promise<number> =>
  (await metricsOf(regtest)).max({ name: 'penstock_chain_tip_height' })
