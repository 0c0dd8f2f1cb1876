import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RegtestNode } from '@penstock/cluster/regtest/node-role.ts'
import type { Order } from '@penstock/order/state.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { assert } from '@penstock/kernel/result.ts'
import { fundNode } from '@penstock/servers/lightning-channels.ts'
import { type Fold, openFold } from '../../test/support/invariants/fold.ts'
import { buyChannel } from '../../test/support/market-client.ts'
import { parseCommandOptions } from '../../test/support/options.ts'
import { regtestSkipReason, startRegtest, type TestRegtest } from '../../test/support/regtest.ts'
import { watchAnnouncements } from './lightning/channel-announcements.ts'
import { watchHeldPayment } from './lightning/held-payments.ts'
import { renderLightningPage, type SalesLoad, listShortfalls, renderShareTable } from './lightning/lightning-report.ts'
import { listProbes } from './lightning/channel-probes.ts'
import { computeShares } from './lightning/delay-shares.ts'
import { lowerPriority } from './lightning/lower-priority.ts'

/** Measures on a real network how long a buyer's payment is held, and for which party it waits. A missed target exits with 1. */
const USAGE = `npm run bench:lightning              writes docs/benchmarks-lightning.md
npm run bench:lightning -- --quick   two small rounds that only show that it still runs; writes nothing`
type SaleRound = { readonly name: string; readonly concurrency: number; readonly times: number; readonly isWarmUp?: boolean }
const ROUNDS: readonly SaleRound[] = [
  // This round is not measured, because new processes still compile their code and databases write their first pages.
  { name: 'Warming up', concurrency: 20, times: 1, isWarmUp: true },
  { name: 'One sale at a time', concurrency: 1, times: 5 },
  { name: 'Twenty sales at once', concurrency: 20, times: 3 },
]
const QUICK_ROUNDS: readonly SaleRound[] = [
  { name: 'One sale', concurrency: 1, times: 1 },
  { name: 'Two sales at once', concurrency: 2, times: 1 },
]
const BLOCK_EVERY_MS = 1000
/** The number of lines of the processes' output that a failed run prints. */
const SHOWN_LINES = 200
const TIMEOUT_MS = 120_000
const POLL_INTERVAL_MS = 20
const MAX_FEE_MSAT = 100_000n
const PAGE = new URL('../../docs/benchmarks-lightning.md', import.meta.url)
const SETTINGS = { PENSTOCK_LOG_LEVEL: 'warn', PENSTOCK_OPEN_WINDOW_SECONDS: '600', PENSTOCK_NEW_SELLER_CAP_SAT: '0' }

const { quick: isQuick } = parseCommandOptions({ quick: { type: 'boolean', default: false } }, USAGE)
if (regtestSkipReason !== undefined) {
  console.error(regtestSkipReason)
  process.exit(2)
}
const loads = await measureSales(isQuick ? QUICK_ROUNDS : ROUNDS)
for (const { name, shares } of loads) console.log(`${name}\n${renderShareTable(shares)}`)
if (!isQuick) {
  writeFileSync(PAGE, renderLightningPage(loads, BLOCK_EVERY_MS))
  console.error('docs/benchmarks-lightning.md is written.')
}
const missedTargets = listShortfalls(loads)
for (const sentence of missedTargets) console.error(sentence)
// A quick run has no warm-up, so a missed target does not fail it.
process.exit(loads.some(({ missing }) => missing.length > 0) || (!isQuick && missedTargets.length > 0) ? 1 : 0)

async function measureSales(rounds: readonly SaleRound[]): Promise<readonly SalesLoad[]> {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-bench-'))
  const regtest = await startRegtest(folder, SETTINGS)
  const minedAt = new Map<number, number>()
  const fold = openFold(folder)
  const announcedAt = new Map<string, number>()
  const measuredRounds: { readonly name: string; readonly heldAt: Map<string, number> }[] = []
  try {
    const { servers, nodesWithRole } = regtest.network
    const openings = rounds.reduce((sum, { concurrency, times }) => sum + concurrency * times, 0)
    const stopListening = nodesWithRole('market').map((market) => watchAnnouncements(market, announcedAt))
    // One coin per opening, so no opening waits for the change output of another.
    for (const { lnd } of nodesWithRole('seller')) await fundNode(servers, lnd, 20_000_000, openings)
    lowerOthersPriority(regtest)
    for (const { name, concurrency, times, isWarmUp = false } of rounds) {
      const heldAt = new Map<string, number>()
      if (!isWarmUp) measuredRounds.push({ name, heldAt })
      for (let round = 1; round <= times; round++) {
        await sellConcurrently({ regtest, fold, minedAt }, concurrency, heldAt)
        console.error(`${name}: ${round} of ${times}`)
      }
    }
    for (const stop of stopListening) stop()
    await fold.catchUp()
    const probes = (await Promise.all(nodesWithRole('market').map(listProbes))).flat()
    return measuredRounds.map(({ name, heldAt }) => ({
      name,
      ...computeShares(fold.events, heldAt, minedAt, { announcedAt, probes }),
    }))
  } catch (error) {
    console.error(regtest.lines.slice(-SHOWN_LINES).join('\n'))
    await fold.catchUp()
    for (const { heldAt } of measuredRounds) for (const order of heldAt.keys()) console.error(describeOrder(order, fold.events))
    throw error
  } finally {
    await fold.close()
    await regtest.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** In production, sellers and buyers have their own machines. A lower priority keeps their load out of the market's share. */
function lowerOthersPriority(regtest: TestRegtest): void {
  const { nodesWithRole } = regtest.network
  const nodes = [...nodesWithRole('seller'), ...nodesWithRole('buyer')].map(({ lnd }) => lnd.pid)
  const agents = regtest.processes().filter(({ name }) => name !== 'market')
  for (const pid of [...nodes, ...agents.map((agent) => agent.pid)]) {
    assert(pid, 'the process runs')
    lowerPriority(pid)
  }
}

/** Lists an order's facts, each with the seconds since the first one. */
function describeOrder(order: string, events: readonly Event[]): string {
  const facts = events.filter(({ aggregateId }) => aggregateId === order)
  const startedAt = facts[0]?.at ?? 0
  return `${order}: ${facts.map(({ fact: { type }, at }) => `${((at - startedAt) / 1000).toFixed(1)} ${type}`).join(', ')}`
}

type BenchmarkContext = { readonly regtest: TestRegtest; readonly fold: Fold; readonly minedAt: Map<number, number> }

/** Places all orders, pays them at once, and mines blocks until all channels are sold. */
async function sellConcurrently(context: BenchmarkContext, count: number, heldAt: Map<string, number>): Promise<void> {
  const { regtest } = context
  const { network } = regtest
  const [market] = network.nodesWithRole('market')
  const buyers = network.nodesWithRole('buyer')
  const bought = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const buyer = buyers[index % buyers.length]
      if (!buyer || !market) throw new Error('the network has no buyer or no market')
      const purchase = await buyChannel(regtest, { connection_uri: `${buyer.info.pubkey}@${buyer.lnd.socket}` })
      return { buyer, ...purchase, stopWatching: watchHeldPayment(market, purchase.id, purchase.invoice, heldAt) }
    }),
  )
  await payAll(bought, heldAt)
  await mineUntilSold(
    context,
    bought.map(({ id }) => id),
  )
  for (const { stopWatching } of bought) stopWatching()
}

type BoughtOrder = { readonly id: string; readonly invoice: string; readonly buyer: RegtestNode }

/** Pays all orders at once, and waits until the market's node has reported each payment as held. */
async function payAll(bought: readonly BoughtOrder[], heldAt: ReadonlyMap<string, number>): Promise<void> {
  const failed: string[] = []
  for (const { id, buyer, invoice } of bought) {
    const end = (why: unknown): unknown => failed.push(`${id}: ${String(why)}`)
    const paid = buyer.lightning.payments.pay(invoice, { maxFeeMsat: MAX_FEE_MSAT, timeoutMs: TIMEOUT_MS })
    void paid.then(({ state }) => state === 'failed' && end('the payment failed'), end)
  }
  const listWaiting = (): readonly string[] => bought.map(({ id }) => id).filter((id) => Number.isNaN(heldAt.get(id)))
  for (const end = performance.now() + TIMEOUT_MS; listWaiting().length > 0; await sleep(POLL_INTERVAL_MS))
    if (failed.length > 0 || performance.now() > end)
      throw new Error(`not all payments are held: ${[...failed, ...listWaiting()].join(', ')}`)
}

async function mineUntilSold({ regtest, fold, minedAt }: BenchmarkContext, orders: readonly string[]): Promise<void> {
  const { servers } = regtest.network
  // Reads the order states from the store, because twenty clients that poll the market would add load.
  const listUnsold = async (): Promise<readonly string[]> => {
    await fold.catchUp()
    return orders.map((id) => readStatus(fold.state(`order-${id}`))).filter((status) => status !== 'VALID_CHANNEL_OPENING')
  }
  for (const end = performance.now() + TIMEOUT_MS; ;) {
    const blockInterval = sleep(BLOCK_EVERY_MS)
    // The timestamp is taken when btcd has mined the block, so the shares include the delay until a node sees the block.
    const [hash = ''] = await servers.chain.rpc<string[]>('generate', 1)
    const { height } = await servers.chain.rpc<{ height: number }>('getblockheader', hash, true)
    minedAt.set(height, Date.now())
    // Reading the store adds load too, so the read waits for the end of the interval, when little work remains.
    await blockInterval
    // A node that is not synced opens no channel, so the next block waits until all nodes are synced.
    await servers.waitUntilSynced()
    const open = await listUnsold()
    if (open.length === 0) return
    if (performance.now() > end) throw new Error(`not all channels were sold in time: ${open.join(', ')}`)
  }
}

// The cast is safe because `Fold` folds an order stream with the order service's decider.
function readStatus(state: unknown): string {
  return (state as Order).status
}
