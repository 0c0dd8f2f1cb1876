import { fixedRate } from '@penstock/adapters/rates/fixed.ts'
import { doom, type Mortal } from '@penstock/adapters/seeded/mortal.ts'
import { chainFor, lightningFor, ratesFor } from '@penstock/adapters/seeded/outside.ts'
import { sqlLimits } from '@penstock/adapters/sql/limits.ts'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { sqlRecords } from '@penstock/adapters/sql/records.ts'
import { sqlTimers } from '@penstock/adapters/sql/timers.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { SellerTerms } from '@penstock/seller-agent/terms.ts'
import { journalFile, runAgent } from './sellers.ts'
import { agentOf, BUSY_MS, type SERVICES } from './plan.ts'
import type { Home, startReplica } from './replica.ts'
import { countedStore, openOvertakings, openShifts, type Overtakings, watched } from './noticed.ts'
import { CONFIG, type World } from './world.ts'

/** Starts a replica: with today's contracts, or with those of the pinned commit. */
export type Start = typeof startReplica
export type Starts = { readonly today: Start; readonly pinned: Start | undefined }

/** Keeps processes alive: whoever died is started again after a while, as a cluster does. */
export type Cradle = {
  replica(name: string): void
  agent(alias: string, terms: SellerTerms, apiKey: string): void
  kill(name: string, awayMs: number): void
  /** It stands still for so long, and nobody notices. */
  freeze(name: string, ms: number): void
  readonly alive: (name: string) => boolean
}

/** Loops that look around many times a second look less often here: their looks are most of the steps of a run. */
const LEAST_SLEEP_MS = 400

type Service = (typeof SERVICES)[number]

export function openCradle(world: World, starts: Starts): Cradle {
  const { engine, plan, diary, reached, bus } = world
  const { schedule } = engine
  const draws = schedule.random.fork('cradle')
  const living = new Map<string, Mortal>()
  const awayMs = new Map<string, number>()

  const alive = (name: string): boolean => living.get(name)?.alive() ?? false
  const overtakings = openOvertakings((topic) => bus.topic(topic), reached)
  const shifts = openShifts(reached, alive)
  const diesAt = doom(plan.fatalCalls, engine.faults.areOn)

  const begin = (name: string, live: (process: Mortal) => Promise<void>): void => {
    const skewMs = plan.skewMs[name] ?? 0
    if (skewMs !== 0) reached('process whose clock is off')
    const process = watched(name, engine.born(name, { skewMs, leastSleepMs: LEAST_SLEEP_MS, diesAt }), world)
    living.set(name, process)
    process.onDeath(() => {
      diary.note(`${process.name} died`)
      const wait = awayMs.get(name) ?? draws.between(20, 2000)
      awayMs.delete(name)
      schedule.later(wait, () => begin(name, live), `${name} is started again`)
    })
    live(process).catch((error: unknown) => {
      diary.note(`${process.name} ended: ${String(error)}`)
      // A server that did not answer at a start is no fault of ours: the start is tried again.
      if (!(error instanceof Fault)) world.crashes.push(error)
      process.kill()
    })
  }
  let isRolledOut = false
  /** Where a clone does not have the pinned commit its processes are today's, and none is counted as pinned. */
  const pinnedOf = (name: string): Start | undefined => (plan.old.includes(name) && !isRolledOut ? starts.pinned : undefined)
  const end = (name: string, away: number, as: 'process killed as planned' | 'process that was rolled out'): void => {
    const process = living.get(name)
    if (!process?.alive()) return
    reached(as)
    awayMs.set(name, away)
    process.kill()
  }
  const beginReplica = async (name: string, process: Mortal): Promise<void> => {
    const service = serviceOf(name)
    const pinned = pinnedOf(name)
    if (pinned) reached('process with pinned contracts')
    const works = () => shifts(service, name)
    const home = await homeOf(world, process, { overtakings, isPinned: pinned !== undefined, works })
    await (pinned ?? starts.today)(service, home)
  }
  // What only the newer release can read waits until then, and no longer.
  const rollOut = (): void => {
    isRolledOut = true
    for (const name of plan.old) end(name, draws.between(20, 2000), 'process that was rolled out')
  }
  if (plan.old.length > 0) schedule.later(draws.between(BUSY_MS / 2, BUSY_MS), rollOut, 'the roll-out ends')

  return {
    replica: (name) => begin(name, (process) => beginReplica(name, process)),
    agent: (alias, terms, apiKey) => begin(agentOf(alias), agentFor(world, alias, terms, apiKey)),
    kill: (name, away) => end(name, away, 'process killed as planned'),
    freeze(name, ms) {
      if (alive(name)) reached('process that stood still as planned')
      living.get(name)?.freeze(ms)
    },
    alive,
  }
}

/** A seller's agent, one life after the other; its file outlives them all. */
function agentFor({ simnet, market, diary }: World, alias: string, terms: SellerTerms, apiKey: string) {
  const file = journalFile()
  return (process: Mortal): Promise<void> =>
    runAgent({
      process,
      lightning: lightningFor(process, simnet.lightning(alias)),
      market,
      file,
      apiKey,
      terms,
      feeRate: (blocks) => chainFor(process, simnet.chain()).feeRate(blocks),
      log: diary.logOf(process.name),
    })
}

// Named `<service>.<number>`, a service has no dot.
const serviceOf = (name: string): Service => name.slice(0, name.indexOf('.')) as Service

type Noted = { readonly overtakings: Overtakings; readonly isPinned: boolean; readonly works: () => void }

async function homeOf(world: World, process: Mortal, { overtakings, isPinned, works }: Noted): Promise<Home> {
  const { engine, simnet, market, store, bus, lags, leases, keyring, pepper, diary, reached } = world
  const views = world.views.of(process)
  const died = Promise.withResolvers<never>()
  process.onDeath(() => {
    market.gone(process.name)
    died.reject(new Fault(`${process.name} is gone`))
  })
  died.promise.catch(() => undefined)
  return {
    platform: {
      store: countedStore(store.of(process), reached, isPinned),
      bus: overtakings.counted(lags.slowed(bus.of(process), process.clock), works),
      views,
      clock: process.clock,
      ids: process.ids,
      timers: await sqlTimers(views),
      progress: await sqlProgress(views),
      limits: await sqlLimits(views),
      leases: leases.of(process),
      instance: process.name,
      config: CONFIG,
      log: diary.logOf(process.name),
    },
    records: await sqlRecords(world.records.of(process)),
    lightning: lightningFor(process, simnet.lightning('market')),
    chain: chainFor(process, simnet.chain()),
    keyring,
    rates: [ratesFor(process, fixedRate(10_000_000n, engine.schedule.clock))],
    pepper,
    opened: (door) => market.opened(process.name, door, died.promise),
  }
}
