import { setTimeout as sleep } from 'node:timers/promises'
import { pay } from '@penstock/cluster/regtest/pay.ts'
import { startRegtest, type TestRegtest } from '../../harness/regtest.ts'
import { counted, type Report } from '../command.ts'
import { openFold } from '../fold.ts'
import { patientCaller } from '../patient.ts'
import { act } from '../people.ts'
import { planOf } from '../plan.ts'
import { purchaseFaults } from '../purchases.ts'
import { type Random, seeded, seedOf } from '../random.ts'
import { lookAtAll, type World } from './look.ts'
import { minerOf } from './miner.ts'
import { type Blow, blowsOf, told } from './plan.ts'
import { nodeMsat } from './truth.ts'

/** Short windows, so that every ending is reached within a round; long enough to sell something between two blows. */
const env = {
  PENSTOCK_OPEN_WINDOW_SECONDS: '30',
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

/**
 * Rounds on one real network, each with deaths and re-organisations under running orders and with a look at everything in
 * its end. @returns when `rounds` are over or the first one has a fault
 */
export async function* lightningCampaign(dataDir: string, seed: number, rounds: number): AsyncGenerator<Report> {
  const regtest = await startRegtest(dataDir, env)
  const fold = openFold(dataDir)
  try {
    const [market] = regtest.network.having('market')
    if (!market) throw new Error('the network has no market')
    const world = { regtest, fold, miner: minerOf(regtest.network), beforeMsat: await nodeMsat(market) }
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

async function oneRound(world: World, seed: number, round: number): Promise<Report> {
  const begun = performance.now()
  const { regtest } = world
  const { network } = regtest
  const random = seeded(seed)
  const aliases = (role: 'buyer' | 'seller') => network.having(role).map(({ alias }) => alias)
  const people = { market: 'market', buyers: aliases('buyer'), sellers: aliases('seller') }
  const { purchases } = planOf(random, people, { orders: ORDERS, longMs: LONG_MS })
  const blows = blowsOf(random, { longMs: LONG_MS, sellers: people.sellers })
  const buyers = network.having('buyer').map(({ alias, node, info }) => ({
    alias,
    pubkey: info.pubkey,
    uri: `${info.pubkey}@${node.socket}`,
  }))
  const over = new AbortController()
  const mining = mineOn(world, random, over.signal)
  const [{ bought, refusals }] = await Promise.all([
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
    plan: blows.map(told),
    invoices: bought.length,
    refusals,
    seconds: (performance.now() - begun) / 1000,
    statuses: counted(books.map(({ status }) => status ?? 'no order')),
    faults: [...purchaseFaults(ORDERS, bought, books), ...faults],
  }
}

/** Blocks at random times. */
async function mineOn({ miner }: World, random: Random, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await sleep(random.between(200, 3000), undefined, { signal: over }).catch(() => undefined) // the round is over
    if (!over.aborted) await miner.mine()
  }
}

async function strike({ regtest, miner }: World, blows: readonly Blow[]): Promise<void> {
  const begun = performance.now()
  for (const blow of blows) {
    await sleep(Math.max(0, begun + blow.atMs - performance.now()))
    if (blow.what === 'reorg') await miner.reorganise(blow.depth)
    else if (blow.whom.of === 'lnd') await regtest.network.person(blow.whom.alias).node.kill()
    else killed(regtest, blow.whom.alias)
  }
}

function killed(regtest: TestRegtest, name: string): void {
  const pid = regtest.processes().find((one) => one.name === name)?.pid
  // It may be dead already.
  if (pid !== undefined) process.kill(pid, 'SIGKILL')
}
