import { setTimeout as sleep } from 'node:timers/promises'
import { verifyStore } from '@penstock/standalone/audit.ts'
import { type SimNode, simNodes } from '../harness/buyer.ts'
import { type Product, startProduct } from '../harness/product.ts'
import { booksOf, isOnTheChainAlone } from './books.ts'
import { type Fold, openFold } from './fold.ts'
import { moneyFaults } from './money.ts'
import { type Mortal, mortal } from './mortal.ts'
import { act } from './people.ts'
import { type Plan, planOf } from './plan.ts'
import { seeded, seedOf } from './random.ts'
import { readModelFaults } from './read-models.ts'
import { truthOf } from './truth.ts'
import { type Wait, waitsOf } from './waiting.ts'

/** Short windows, so that every ending is reached within a round. */
const env = {
  PENSTOCK_SIM_BLOCK_SECONDS: '0.15',
  PENSTOCK_OPEN_WINDOW_SECONDS: '2',
  PENSTOCK_INVOICE_EXPIRY_SECONDS: '30',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '12',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '20',
  PENSTOCK_WITHHELD_BLOCKS: '10',
  PENSTOCK_LEASE_BLOCKS: '100',
  PENSTOCK_LOG_LEVEL: 'error',
}

export type RoundReport = {
  readonly round: number
  readonly kills: number
  readonly invoices: number
  readonly seconds: number
  /** Holds that a rails seller's signature and the chain settled at their last height. */
  readonly unproven: number
  /** Orders by status, of the whole data folder. */
  readonly statuses: Readonly<Record<string, number>>
  /** For whom something still waits, and for how many. */
  readonly waiting: Readonly<Record<string, number>>
  readonly faults: readonly string[]
}

/**
 * Rounds on one data folder, each with deaths, and with a look at everything in its end.
 * @returns when `rounds` are over or the first one has a fault
 */
export async function* campaign(dataDir: string, seed: number, rounds: number): AsyncGenerator<RoundReport> {
  const first = await startProduct(dataDir, env)
  const nodes = await simNodes(first)
  const before = await marketMsat(first)
  await first.kill()
  const fold = openFold(dataDir)
  try {
    for (let round = 1; round <= rounds; round++) {
      const report = await oneRound({ dataDir, fold, nodes, before }, seedOf(seed, round), round)
      yield report
      if (report.faults.length > 0) return
    }
  } finally {
    await fold.close()
  }
}

type World = { readonly dataDir: string; readonly fold: Fold; readonly nodes: readonly SimNode[]; readonly before: bigint }

async function oneRound({ dataDir, fold, nodes, before }: World, seed: number, round: number): Promise<RoundReport> {
  const begun = performance.now()
  const aliases = (role: string): readonly string[] => nodes.filter((node) => node.role === role).map(({ alias }) => alias)
  const plan = planOf(seeded(seed), { buyers: aliases('buyer'), sellers: aliases('seller') })
  const market = mortal(dataDir, env)
  const [invoices, product] = await Promise.all([act(market, plan, nodes), lives(market, plan)])
  for (const alias of aliases('seller')) await product.operator('POST', '/sim/behave', { alias, how: 'ok' })
  const waits = await atRest(fold, product)
  const gainedMsat = (await marketMsat(product)) - before
  const parked = await product.operator<readonly object[]>('GET', '/parked')
  const exit = await product.stop()
  await fold.catchUp()
  const books = booksOf(fold.events)
  const audited = await verifyStore(dataDir)
  return {
    round,
    kills: plan.livesMs.length,
    invoices,
    seconds: (performance.now() - begun) / 1000,
    unproven: books.filter(isOnTheChainAlone).length,
    statuses: counted(books.map(({ status }) => status ?? 'no order')),
    waiting: counted(waits.map(({ party, stream, asks }) => (party ?? `${stream}: ${asks}`).replace(/order [0-9a-f-]{36}/, 'an order'))),
    faults: [
      ...(exit === 0 ? [] : [`the market ended with ${exit} when it was asked to stop`]),
      ...waits.filter(({ party }) => party === null).map(({ stream, asks }) => `${stream} waits for nobody who can be named: ${asks}`),
      ...(parked.length === 0 ? [] : [`parked: ${JSON.stringify(parked)}`]),
      ...(audited.divergences === 0 && audited.ledger_balanced ? [] : [`the audit found ${JSON.stringify(audited)}`]),
      ...moneyFaults(books, truthOf(dataDir), gainedMsat),
      ...(await readModelFaults(dataDir, fold.events)),
    ],
  }
}

async function lives(market: Mortal, { livesMs }: Plan): Promise<Product> {
  for (const forMs of livesMs) await market.live(forMs)
  return market.settleDown()
}

const REST_WITHIN_MS = 60_000
const PATIENCE_MS = 6000

/**
 * Waits until whatever is still asked for waits for somebody who can be named; what is left then is the answer. A hold
 * that nothing proves ends at its last height, a hundred blocks on: after a while they come faster.
 */
async function atRest(fold: Fold, product: Product): Promise<readonly Wait[]> {
  const begun = performance.now()
  for (;;) {
    await fold.catchUp()
    const waits = waitsOf(fold.asking(), Date.now())
    const waited = performance.now() - begun
    if (waited > REST_WITHIN_MS || waits.every(({ party }) => party !== null)) return waits
    if (waited > PATIENCE_MS) await product.operator('POST', '/sim/mine', { blocks: 3 })
    await sleep(250)
  }
}

async function marketMsat(product: Product): Promise<bigint> {
  const { nodes } = await product.operator<{ nodes: readonly { alias: string; on_chain_msat: string; channel_msat: string }[] }>('GET', '/sim/balances')
  const market = nodes.find(({ alias }) => alias === 'market')
  return BigInt(market?.on_chain_msat ?? 0) + BigInt(market?.channel_msat ?? 0)
}

function counted(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const name of names.toSorted()) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
