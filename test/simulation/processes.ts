import { fixedRate } from '@penstock/adapters/rates/fixed.ts'
import type { Mortal } from '@penstock/adapters/seeded/mortal.ts'
import { chainFor, lightningFor, ratesFor } from '@penstock/adapters/seeded/outside.ts'
import { sqlLimits } from '@penstock/adapters/sql/limits.ts'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { sqlRecords } from '@penstock/adapters/sql/records.ts'
import { sqlTimers } from '@penstock/adapters/sql/timers.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { journalFile, runAgent, termsOf } from './sellers.ts'
import { agentOf, BUSY_MS, type SERVICES } from './plan.ts'
import type { Home, startReplica } from './replica.ts'
import { CONFIG, type World } from './world.ts'

/** Starts a replica: with today's contracts, or with those of the pinned commit. */
export type Start = typeof startReplica
export type Starts = { readonly today: Start; readonly pinned: Start | undefined }

/** Keeps processes alive: whoever died is started again after a while, as a cluster does. */
export type Cradle = {
  replica(name: string): void
  agent(alias: string, index: number, apiKey: string): void
  kill(name: string, awayMs: number): void
  /** It stands still for so long, and nobody notices. */
  freeze(name: string, ms: number): void
  readonly alive: (name: string) => boolean
}

/** Loops that look around many times a second look less often here: their looks are most of the steps of a run. */
const LEAST_SLEEP_MS = 400

type Service = (typeof SERVICES)[number]

export function openCradle(world: World, starts: Starts): Cradle {
  const { engine, plan, diary } = world
  const { schedule } = engine
  const draws = schedule.random.fork('cradle')
  const living = new Map<string, Mortal>()
  const awayMs = new Map<string, number>()

  const begin = (name: string, live: (process: Mortal) => Promise<void>): void => {
    const process = watched(engine.born(name, { skewMs: plan.skewMs[name] ?? 0, leastSleepMs: LEAST_SLEEP_MS }), world.points)
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
  const startOf = (name: string): Start =>
    plan.old.includes(name) && !isRolledOut ? (starts.pinned ?? starts.today) : starts.today
  const kill = (name: string, away: number): void => {
    const process = living.get(name)
    if (!process?.alive()) return
    awayMs.set(name, away)
    process.kill()
  }
  // What only the newer release can read waits until then, and no longer.
  const rollOut = (): void => {
    isRolledOut = true
    for (const name of plan.old) kill(name, draws.between(20, 2000))
  }
  if (plan.old.length > 0) schedule.later(draws.between(BUSY_MS / 2, BUSY_MS), rollOut, 'the roll-out ends')

  return {
    replica: (name) => begin(name, async (process) => startOf(name)(serviceOf(name), await homeOf(world, process))),
    agent(alias, index, apiKey) {
      const file = journalFile()
      const seller = plan.sellers[index] ?? { standing: true, isScarce: false }
      const { simnet, market } = world
      begin(agentOf(alias), (process) =>
        runAgent({
          process,
          lightning: lightningFor(process, simnet.lightning(alias)),
          market,
          file,
          apiKey,
          terms: termsOf(index, seller),
          feeRate: (blocks) => chainFor(process, simnet.chain()).feeRate(blocks),
          log: diary.logOf(process.name),
        }),
      )
    },
    kill,
    freeze: (name, ms) => living.get(name)?.freeze(ms),
    alive: (name) => living.get(name)?.alive() ?? false,
  }
}

/** Notes which calls there are to die at. */
const watched = (process: Mortal, points: Set<string>): Mortal => ({
  ...process,
  call: (point, apply, options) => {
    points.add(point)
    return process.call(point, apply, options)
  },
})

// Named `<service>.<number>`, a service has no dot.
const serviceOf = (name: string): Service => name.slice(0, name.indexOf('.')) as Service

async function homeOf(world: World, process: Mortal): Promise<Home> {
  const { engine, simnet, market, store, bus, lags, leases, keyring, pepper, diary } = world
  const views = world.views.of(process)
  const died = Promise.withResolvers<never>()
  process.onDeath(() => {
    market.gone(process.name)
    died.reject(new Fault(`${process.name} is gone`))
  })
  died.promise.catch(() => undefined)
  return {
    platform: {
      store: store.of(process),
      bus: lags.slowed(bus.of(process), process.clock),
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
