import { setTimeout as sleep } from 'node:timers/promises'
import { verifyStore } from '@penstock/standalone/audit.ts'
import type { TestRegtest } from '../../harness/regtest.ts'
import { type Book, booksOf } from '../books.ts'
import { crashes } from '../crashes.ts'
import type { Fold } from '../fold.ts'
import { recordFaults, walletFaults } from '../look.ts'
import { readModelFaults } from '../read-models.ts'
import { atRest } from '../rest.ts'
import type { Miner } from './miner.ts'
import { truthOfNodes } from './truth.ts'
import { balancesOf, type Standings, standingsOf, wealthSince } from './wealth.ts'

export type World = {
  readonly regtest: TestRegtest
  readonly fold: Fold
  readonly miner: Miner
  /** What each node had before the first order. */
  readonly before: Standings
}

const REST_WITHIN_MS = 300_000
const SETTLED_WITHIN_MS = 30_000

/** Makes blocks until everything has come to rest, and looks at facts, money, nodes and read models. */
export async function lookAtAll(world: World): Promise<{ readonly books: readonly Book[]; readonly faults: readonly string[] }> {
  const { regtest, fold, miner } = world
  const waits = await atRest({
    fold,
    truthNow: () => truthOfNodes(regtest.network),
    mine: () => miner.mine(),
    decide: (order, decision) => regtest.operator('POST', `/payouts/${order}/decide`, decision),
    mineAfterMs: 0,
    withinMs: REST_WITHIN_MS,
  })
  const books = booksOf(fold.events)
  const audited = await verifyStore(regtest.dataDir)
  const faults = [
    ...(await agreed(async () => {
      const parked = await regtest.operator<readonly object[]>('GET', '/parked')
      return recordFaults({ waits, books, parked, audited })
    })),
    ...(await agreed(async () => moneyIn(world))),
    ...(await agreed(async () => {
      await fold.catchUp()
      return readModelFaults(regtest.dataDir, fold.events)
    })),
    ...miner.faults,
    ...crashes(regtest.lines),
  ]
  return { books, faults }
}

async function moneyIn({ regtest: { network }, fold, before }: World): Promise<readonly string[]> {
  await fold.catchUp()
  const books = booksOf(fold.events)
  const [truth, now] = [await truthOfNodes(network), await standingsOf(network)]
  const marketMsat = (standings: Standings): bigint => standings.find(({ pubkey }) => pubkey === truth.market)?.hasMsat ?? 0n
  const gainedMsat = marketMsat(now) - marketMsat(before)
  return walletFaults({ books, truth, gainedMsat, wealth: wealthSince(before, now), balances: balancesOf(now) })
}

/** Nodes and views are a moment behind the facts; what they still say after a while is so. */
async function agreed(look: () => Promise<readonly string[]>): Promise<readonly string[]> {
  for (const end = performance.now() + SETTLED_WITHIN_MS; ; await sleep(500)) {
    const faults = await look().catch((error: unknown) => [`it cannot be looked at: ${String(error)}`])
    if (faults.length === 0 || performance.now() > end) return faults
  }
}
