import { type SimNode, simNodes } from '../harness/buyer.ts'
import { type Product, startProduct } from '../harness/product.ts'
import type { Balances } from './balances.ts'
import { booksOf, isOnTheChainAlone } from './books.ts'
import { counted, type Report } from './command.ts'
import { type Fold, openFold } from './fold.ts'
import { lookAtAll, marketMsat } from './look.ts'
import { type Mortal, mortal } from './mortal.ts'
import { isOpen } from './orders.ts'
import { act } from './people.ts'
import { fashionOf, type Plan, planOf, standardExtent } from './plan.ts'
import { doorFaults, purchaseFaults } from './purchases.ts'
import { seeded, seedOf } from './random.ts'
import { type Struck, struckIn } from './struck.ts'

/** Short windows, so that every ending is reached within a round. */
const env = {
  PENSTOCK_SIM_BLOCK_SECONDS: '0.15',
  PENSTOCK_OPEN_WINDOW_SECONDS: '2',
  PENSTOCK_INVOICE_EXPIRY_SECONDS: '30',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '20',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '20',
  PENSTOCK_WITHHELD_BLOCKS: '10',
  PENSTOCK_LEASE_BLOCKS: '100',
  PENSTOCK_LOG_LEVEL: 'error',
}

export type RoundReport = Report & {
  readonly struck: Struck
  readonly balances: Balances
  /** Holds that a rails seller's signature and the chain settled at their last height. */
  readonly unproven: number
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
  const people = { market: 'market', buyers: aliases('buyer'), sellers: aliases('seller') }
  const plan = planOf(seeded(seed), people, { ...standardExtent, fashion: fashionOf(round) })
  const market = mortal(dataDir, env)
  const [{ bought, refusals }, { product, killed }] = await Promise.all([act(market, plan, nodes), lives(market, plan, fold)])
  for (const alias of ['market', ...aliases('seller')]) await product.operator('POST', '/sim/behave', { alias, how: 'ok' })
  const { books, waits, balances, faults } = await lookAtAll(product, fold, before)
  const sales = [...purchaseFaults(plan.purchases.length, bought, books), ...doorFaults(round, books)]
  return {
    round,
    plan: plan.weather.flat().map(({ atMs, ...change }) => `${atMs / 1000} s ${Object.values(change).join(' ')}`),
    struck: struckIn(fold.events, killed),
    balances,
    invoices: bought.length,
    refusals,
    seconds: (performance.now() - begun) / 1000,
    unproven: books.filter(isOnTheChainAlone).length,
    statuses: counted([
      ...books.map(({ status }) => status ?? 'no order'),
      ...waits.map(({ party, stream, asks }) => `wait for ${forLogs(party ?? `${stream}: ${asks}`)}`),
    ]),
    faults: [...sales, ...faults],
  }
}

type Lived = { readonly product: Product; readonly killed: readonly number[] }

async function lives(market: Mortal, { livesMs }: Plan, fold: Fold): Promise<Lived> {
  const killed: number[] = []
  const old = new Set(booksOf(fold.events).map(({ id }) => id))
  for (const forMs of livesMs) {
    await market.live(forMs)
    await fold.catchUp()
    killed.push(booksOf(fold.events).filter((book) => !old.has(book.id) && isOpen(book)).length)
  }
  return { product: await market.settleDown(), killed }
}

const forLogs = (what: string): string => what.replace(/order [0-9a-f-]{36}/, 'an order')
