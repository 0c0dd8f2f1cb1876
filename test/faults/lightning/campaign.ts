import { setTimeout as sleep } from 'node:timers/promises'
import { pay } from '@penstock/cluster/regtest/pay.ts'
import { startRegtest } from '../../harness/regtest.ts'
import { counted, type Report } from '../command.ts'
import { openFold } from '../fold.ts'
import { patientCaller } from '../patient.ts'
import { act } from '../people.ts'
import { planOf } from '../plan.ts'
import { purchaseFaults } from '../purchases.ts'
import { type Random, seeded, seedOf } from '../random.ts'
import { toLastHeight, type Walked } from './last-height.ts'
import { lookAtAll, type World } from './look.ts'
import { minerOf } from './miner.ts'
import { blowsOf, paying, told, toldWay, wayOf } from './plan.ts'
import { strike } from './strike.ts'
import { type Struck, struckIn } from './struck.ts'
import { standingsOf } from './wealth.ts'

/** Short windows, so that every ending is reached within a round; long enough to sell something between two blows. */
const env = {
  PENSTOCK_OPEN_WINDOW_SECONDS: '45',
  PENSTOCK_INVOICE_EXPIRY_SECONDS: '60',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '40',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '20',
  PENSTOCK_WITHHELD_BLOCKS: '10',
  PENSTOCK_LEASE_BLOCKS: '400',
  PENSTOCK_LOG_LEVEL: 'error',
}
const ORDERS = 4
const LONG_MS = 20_000
const PATIENCE_MS = 60_000
/** In the first of so many rounds payments are held up to their last height. */
const LAST_HEIGHT_EVERY = 3

export type LightningReport = Report & { readonly struck: Struck }

/**
 * Rounds on one real network, each with deaths and re-organisations under running orders and with a look at everything in
 * its end. @returns when `rounds` are over or the first one has a fault
 */
export async function* lightningCampaign(dataDir: string, seed: number, rounds: number): AsyncGenerator<LightningReport> {
  const regtest = await startRegtest(dataDir, env)
  const fold = openFold(dataDir)
  try {
    const world = { regtest, fold, miner: minerOf(regtest.network), before: await standingsOf(regtest.network) }
    for (let round = 1; round <= rounds; round++) {
      const report = await oneRound(world, seedOf(seed, round), round)
      yield report
      if (report.faults.length > 0) return
    }
  } finally {
    await fold.close()
    await regtest.stop()
  }
}

async function oneRound(world: World, seed: number, round: number): Promise<LightningReport> {
  const begun = performance.now()
  const { regtest, fold } = world
  const { network } = regtest
  const random = seeded(seed)
  const aliases = (role: 'buyer' | 'seller') => network.having(role).map(({ alias }) => alias)
  const people = { market: 'market', buyers: aliases('buyer'), sellers: aliases('seller') }
  const purchases = paying(planOf(random, people, { orders: ORDERS, longMs: LONG_MS }).purchases, LONG_MS)
  const blows = blowsOf(random, { longMs: LONG_MS, sellers: people.sellers })
  const buyers = network.having('buyer').map(({ alias, node, info }) => ({
    alias,
    pubkey: info.pubkey,
    uri: `${info.pubkey}@${node.socket}`,
  }))
  const ways = round % LAST_HEIGHT_EVERY === 1 ? [wayOf(random, people.buyers)] : []
  const walks: Walked[] = []
  for (const way of ways) walks.push(await toLastHeight(world, way))
  const over = new AbortController()
  const mining = mineOn(world, random, over.signal)
  const [{ bought, refusals }, kills] = await Promise.all([
    act(patientCaller(regtest), { purchases, weather: [] }, buyers, LONG_MS + PATIENCE_MS, (_, invoice, { alias }) =>
      pay(network, network.person(alias), invoice),
    ),
    strike(world, blows),
  ])
  over.abort()
  await mining
  const { books, faults } = await lookAtAll(world)
  return {
    round,
    plan: [...ways.flatMap(toldWay), ...blows.map(told)],
    invoices: bought.length,
    refusals,
    seconds: (performance.now() - begun) / 1000,
    struck: struckIn(
      fold.events,
      kills,
      walks.map(({ walk }) => walk),
    ),
    statuses: counted(books.map(({ status }) => status ?? 'no order')),
    faults: [...walks.flatMap((one) => one.faults), ...purchaseFaults(ORDERS, bought, books), ...faults],
  }
}

/** Blocks at random times. */
async function mineOn({ miner }: World, random: Random, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await sleep(random.between(200, 3000), undefined, { signal: over }).catch(() => undefined) // the round is over
    if (!over.aborted) await miner.mine()
  }
}
