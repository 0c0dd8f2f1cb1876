import { join } from 'node:path'
import { type SimNode, simNodes } from '../harness/buyer.ts'
import { type Product, startProduct } from '../harness/product.ts'
import { type Span, without } from './awake.ts'
import type { Balances } from './balances.ts'
import { booksOf, isOnTheChainAlone } from './books.ts'
import { counted, type Report } from './command.ts'
import { type Fold, openFold, openFoldOfServer } from './fold.ts'
import { lookAtAll, marketMsat } from './look.ts'
import { type Mortal, mortal } from './mortal.ts'
import type { DoubleProcess } from '../kurrentdb/double/process.ts'
import { isOpen } from './orders.ts'
import { act, type IsShown } from './people.ts'
import { fashionOf, type Plan, planOf, standardExtent } from './plan.ts'
import { seeded, seedOf } from './random.ts'
import { blowsOf, startStore, strike } from './store.ts'
import { type Struck, struckIn } from './struck.ts'
import { isShownSince, silencesOf, tell, type Told } from './told.ts'
import { heightIn } from './truth.ts'

/** Short windows, so that every ending is reached within a round. */
const env = {
  // A slow machine is no reason to withdraw an order.
  PENSTOCK_BUY_ANSWER_SECONDS: '30',
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
  /** Blocks of all rounds so far in which the market was up and its node answered. */
  readonly awake: readonly Span[]
  /** Holds that a rails seller's signature and the chain settled at their last height. */
  readonly unproven: number
  /** What struck the store, where it is a server. */
  readonly blows: readonly string[]
}

/**
 * Rounds on one data folder, each with deaths, and with a look at everything in its end.
 * @param store where facts are: in the folder, or in a double of KurrentDB that is struck too
 * @returns when `rounds` are over or the first one has a fault
 */
export async function* campaign(
  dataDir: string,
  seed: number,
  rounds: number,
  store: Store = 'folder',
): AsyncGenerator<RoundReport> {
  const double = store === 'kurrentdb' ? await startStore(join(dataDir, 'double.log')) : undefined
  try {
    yield* roundsOn({ dataDir, double, env: double ? { ...env, PENSTOCK_EVENT_STORE: double.url } : env }, seed, rounds)
  } finally {
    await double?.stop()
  }
}

/** Where a market keeps its facts. */
export const STORES = ['folder', 'kurrentdb'] as const
type Store = (typeof STORES)[number]

type Ground = Pick<World, 'dataDir' | 'double' | 'env'>

async function* roundsOn(ground: Ground, seed: number, rounds: number): AsyncGenerator<RoundReport> {
  const { dataDir, env, double } = ground
  const first = await startProduct(dataDir, env)
  const nodes = await simNodes(first)
  const before = await marketMsat(first)
  await first.kill()
  const fold = double ? await openFoldOfServer(dataDir) : openFold(dataDir)
  const world: World = { ...ground, fold, nodes, before, told: [], awake: [] }
  try {
    for (let round = 1; round <= rounds; round++) {
      const report = await oneRound(world, seedOf(seed, round), round)
      yield report
      if (report.faults.length > 0) return
    }
  } finally {
    await fold.close()
  }
}

type World = {
  readonly dataDir: string
  readonly env: Readonly<Record<string, string>>
  readonly double: DoubleProcess | undefined
  readonly fold: Fold
  readonly nodes: readonly SimNode[]
  readonly before: bigint
  /** Of all rounds. */
  readonly told: Told[]
  readonly awake: Span[]
}

async function oneRound(world: World, seed: number, round: number): Promise<RoundReport> {
  const { dataDir, env, double, fold, nodes, before, told, awake } = world
  const begun = performance.now()
  const aliases = (role: string): readonly string[] => nodes.filter((node) => node.role === role).map(({ alias }) => alias)
  const people = { market: 'market', buyers: aliases('buyer'), sellers: aliases('seller') }
  const plan = planOf(seeded(seed), people, { ...standardExtent, fashion: fashionOf(round) })
  const market = mortal(dataDir, env)
  const isShown: IsShown = async (how, sinceMs) => {
    await fold.catchUp()
    return isShownSince(fold.events, how, sinceMs)
  }
  // Of a seed of its own, so that the rest of a round is the same whatever the store.
  const blows = double ? blowsOf(seeded(seedOf(seed, 1)), standardExtent.longMs) : []
  const [acted, { product, killed }, struck] = await Promise.all([
    act(market, plan, nodes, undefined, undefined, isShown),
    lives(market, plan, fold),
    double ? strike(double, blows) : [],
  ])
  const { bought, refusals } = acted
  told.push(...acted.told)
  for (const alias of ['market', ...aliases('seller')]) told.push(await tell((ask) => ask(product), { alias, how: 'ok' }))
  const awakeUntil = (height: number): readonly Span[] => without(market.awake(), silencesOf(told, 'market', height))
  const look = await lookAtAll(product, fold, before, {
    awake: (height) => [...awake, ...awakeUntil(height)],
    sales: { round, planned: plan.purchases.length, bought, refusals },
  })
  awake.push(...awakeUntil(heightIn(dataDir)))
  const { books, waits, balances, faults } = look
  return {
    round,
    plan: plan.weather.flat().map(({ atMs, ...change }) => `${atMs / 1000} s ${Object.values(change).join(' ')}`),
    struck: struckIn(fold.events, killed, told, (pubkey) => nodes.find((node) => node.pubkey === pubkey)?.alias),
    balances,
    awake: [...awake],
    invoices: bought.length,
    refusals,
    seconds: (performance.now() - begun) / 1000,
    blows: struck,
    unproven: books.filter(isOnTheChainAlone).length,
    statuses: counted([
      ...books.map(({ status }) => status ?? 'no order'),
      ...waits.map(({ party, stream, asks }) => `wait for ${forLogs(party ?? `${stream}: ${asks}`)}`),
    ]),
    faults,
  }
}

type Lived = { readonly product: Product; readonly killed: readonly number[] }

async function lives(market: Mortal, { livesMs }: Plan, fold: Fold): Promise<Lived> {
  const killed: number[] = []
  const old = new Set(booksOf(fold.events).map(({ id }) => id))
  const openNow = async (): Promise<number> => {
    await fold.catchUp()
    return booksOf(fold.events).filter((book) => !old.has(book.id) && isOpen(book)).length
  }
  for (const [at, forMs] of livesMs.entries()) {
    // One kill of each round at the least hits something, however late the first buyers come.
    const isLastChance = at === livesMs.length - 1 && !killed.some((open) => open > 0)
    await market.live(forMs, isLastChance ? async () => (await openNow()) > 0 : undefined)
    killed.push(await openNow())
  }
  return { product: await market.settleDown(), killed }
}

const forLogs = (what: string): string => what.replace(/order [0-9a-f-]{36}/, 'an order')
