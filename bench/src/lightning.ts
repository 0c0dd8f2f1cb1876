import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Person } from '@penstock/cluster/regtest/person.ts'
import type { Order } from '@penstock/order/state.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { must } from '@penstock/kernel/result.ts'
import { fund } from '@penstock/servers/lightning-channels.ts'
import { type Fold, openFold } from '../../test/faults/fold.ts'
import { buy } from '../../test/harness/buyer.ts'
import { optionsOf } from '../../test/harness/options.ts'
import { regtestMissing, startRegtest, type TestRegtest } from '../../test/harness/regtest.ts'
import { watchGraph } from './lightning-announced.ts'
import { watchHeld } from './lightning-held.ts'
import { lightningPage, type Load, shortfalls, tableOf } from './lightning-report.ts'
import { probesOf } from './lightning-probes.ts'
import { sharesOf } from './lightning-shares.ts'
import { standsBack } from './stand-back.ts'

/** How long a buyer's payment is held on a real network, and for whom. It ends with 1 where it is not what is wanted. */
const USAGE = `npm run bench:lightning              writes docs/benchmarks-lightning.md
npm run bench:lightning -- --quick   two small rounds that only show that it still runs; writes nothing`
type Round = { readonly name: string; readonly atOnce: number; readonly times: number; readonly isWarmUp?: boolean }
const ROUNDS: readonly Round[] = [
  // Programs that have just been started compile what they run, and databases have their first pages to write.
  { name: 'Warming up', atOnce: 20, times: 1, isWarmUp: true },
  { name: 'One sale at a time', atOnce: 1, times: 5 },
  { name: 'Twenty sales at once', atOnce: 20, times: 3 },
]
const QUICK: readonly Round[] = [
  { name: 'One sale', atOnce: 1, times: 1 },
  { name: 'Two sales at once', atOnce: 2, times: 1 },
]
const BLOCK_EVERY_MS = 1000
/** Of what the processes said, where a round does not end. */
const LINES = 200
const WITHIN_MS = 120_000
const LOOK_MS = 20
const MAX_FEE_MSAT = 100_000n
const PAGE = new URL('../../docs/benchmarks-lightning.md', import.meta.url)
const SETTINGS = { PENSTOCK_LOG_LEVEL: 'warn', PENSTOCK_OPEN_WINDOW_SECONDS: '600', PENSTOCK_NEW_SELLER_CAP_SAT: '0' }

const { quick: isQuick } = optionsOf({ quick: { type: 'boolean', default: false } }, USAGE)
if (regtestMissing !== undefined) {
  console.error(regtestMissing)
  process.exit(2)
}
const loads = await measured(isQuick ? QUICK : ROUNDS)
for (const { name, shares } of loads) console.log(`${name}\n${tableOf(shares)}`)
if (!isQuick) {
  writeFileSync(PAGE, lightningPage(loads, BLOCK_EVERY_MS))
  console.error('docs/benchmarks-lightning.md is written.')
}
const short = shortfalls(loads)
for (const sentence of short) console.error(sentence)
// One small round measures the start as well: it is no judgement.
process.exit(loads.some(({ missing }) => missing.length > 0) || (!isQuick && short.length > 0) ? 1 : 0)

async function measured(rounds: readonly Round[]): Promise<readonly Load[]> {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-bench-'))
  const regtest = await startRegtest(folder, SETTINGS)
  const minedAt = new Map<number, number>()
  const fold = openFold(folder)
  const announcedAt = new Map<string, number>()
  const sold: { readonly name: string; readonly heldAt: Map<string, number> }[] = []
  try {
    const { servers, having } = regtest.network
    const openings = rounds.reduce((sum, { atOnce, times }) => sum + atOnce * times, 0)
    const listening = having('market').map((market) => watchGraph(market, announcedAt))
    // One coin for each opening, so that none waits for the change of another.
    for (const { node } of having('seller')) await fund(servers, node, 20_000_000, openings)
    othersStandBack(regtest)
    for (const { name, atOnce, times, isWarmUp = false } of rounds) {
      const heldAt = new Map<string, number>()
      if (!isWarmUp) sold.push({ name, heldAt })
      for (let round = 1; round <= times; round++) {
        await sellAtOnce({ regtest, fold, minedAt }, atOnce, heldAt)
        console.error(`${name}: ${round} of ${times}`)
      }
    }
    for (const stop of listening) stop()
    await fold.catchUp()
    const probes = (await Promise.all(having('market').map(probesOf))).flat()
    return sold.map(({ name, heldAt }) => ({ name, ...sharesOf(fold.events, heldAt, minedAt, { announcedAt, probes }) }))
  } catch (error) {
    console.error(regtest.lines.slice(-LINES).join('\n'))
    await fold.catchUp()
    for (const { heldAt } of sold) for (const order of heldAt.keys()) console.error(storyOf(order, fold.events))
    throw error
  } finally {
    await fold.close()
    await regtest.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Sellers and buyers have machines of their own: what theirs do here must not count as the market's share. */
function othersStandBack(regtest: TestRegtest): void {
  const { having } = regtest.network
  const nodes = [...having('seller'), ...having('buyer')].map(({ node }) => node.pid)
  const agents = regtest.processes().filter(({ name }) => name !== 'market')
  for (const pid of [...nodes, ...agents.map((agent) => agent.pid)]) {
    must(pid, 'they run')
    standsBack(pid)
  }
}

/** What became of an order, with the seconds of each fact. */
function storyOf(order: string, events: readonly Event[]): string {
  const facts = events.filter(({ aggregateId }) => aggregateId === order)
  const began = facts[0]?.at ?? 0
  return `${order}: ${facts.map(({ fact: { type }, at }) => `${((at - began) / 1000).toFixed(1)} ${type}`).join(', ')}`
}

type Bench = { readonly regtest: TestRegtest; readonly fold: Fold; readonly minedAt: Map<number, number> }

/** Buys, pays all at once, and makes blocks until everything is sold. */
async function sellAtOnce(bench: Bench, count: number, heldAt: Map<string, number>): Promise<void> {
  const { regtest } = bench
  const { network } = regtest
  const [market] = network.having('market')
  const buyers = network.having('buyer')
  const bought = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const buyer = buyers[index % buyers.length]
      if (!buyer || !market) throw new Error('the network has no buyer or no market')
      const one = await buy(regtest, { connection_uri: `${buyer.info.pubkey}@${buyer.node.socket}` })
      return { buyer, ...one, watching: watchHeld(market, one.id, one.invoice, heldAt) }
    }),
  )
  await payAll(bought, heldAt)
  await blocksUntilSold(
    bench,
    bought.map(({ id }) => id),
  )
  for (const { watching } of bought) watching()
}

type Bought = { readonly id: string; readonly invoice: string; readonly buyer: Person }

/** All at once, until the market's node has told of each: whoever asks the nodes for them meanwhile is a load of his own. */
async function payAll(bought: readonly Bought[], heldAt: ReadonlyMap<string, number>): Promise<void> {
  const failed: string[] = []
  for (const { id, buyer, invoice } of bought) {
    const end = (why: unknown): unknown => failed.push(`${id}: ${String(why)}`)
    const paid = buyer.lightning.payments.pay(invoice, { maxFeeMsat: MAX_FEE_MSAT, timeoutMs: WITHIN_MS })
    void paid.then(({ state }) => state === 'failed' && end('the payment failed'), end)
  }
  const waiting = (): readonly string[] => bought.map(({ id }) => id).filter((id) => Number.isNaN(heldAt.get(id)))
  for (const end = performance.now() + WITHIN_MS; waiting().length > 0; await sleep(LOOK_MS))
    if (failed.length > 0 || performance.now() > end)
      throw new Error(`not everything is held: ${[...failed, ...waiting()].join(', ')}`)
}

async function blocksUntilSold({ regtest, fold, minedAt }: Bench, orders: readonly string[]): Promise<void> {
  const { servers } = regtest.network
  // From the store itself: twenty who ask the market every second would be a load of their own.
  const unsold = async (): Promise<readonly string[]> => {
    await fold.catchUp()
    return orders.map((id) => statusOf(fold.state(`order-${id}`))).filter((status) => status !== 'VALID_CHANNEL_OPENING')
  }
  for (const end = performance.now() + WITHIN_MS; ;) {
    const next = sleep(BLOCK_EVERY_MS)
    // The time is the chain's own: nodes that take long to see a block are no excuse.
    const [hash = ''] = await servers.chain.rpc<string[]>('generate', 1)
    const { height } = await servers.chain.rpc<{ height: number }>('getblockheader', hash, true)
    minedAt.set(height, Date.now())
    // Only when there is little to do any more: what this process asks for is a load as well.
    await next
    // Nodes that lag behind open no channels: on a slow machine blocks come slower.
    await servers.inStep()
    const open = await unsold()
    if (open.length === 0) return
    if (performance.now() > end) throw new Error(`not everything was sold in time: ${open.join(', ')}`)
  }
}

// The streams of orders have the state that the order service folds.
function statusOf(state: unknown): string {
  return (state as Order).status
}
