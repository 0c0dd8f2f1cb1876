import { Fault } from '@penstock/kernel/result.ts'
import type { Clock, Ids } from '@penstock/ports/clock.ts'
import { systemIds } from '../system/ids.ts'
import type { FaultKind, Faults } from './faults.ts'
import { life, type Life } from './life.ts'
import { forks, type Random } from './random.ts'
import { type Schedule, virtualClock } from './schedule.ts'

/** Where a process dies: at the so many-th visit of a call, before it is applied or after it and before its answer. */
export type Death = { readonly point: string; readonly when: 'before' | 'after'; readonly visit: number }
/** Whether a process dies at this visit of a moment. */
export type Doom = (point: string, when: Death['when']) => boolean

export type MortalOptions = {
  /** How far its clock is off the world's. */
  readonly skewMs?: number
  /** Shorter sleeps take this long: a loop that looks five times a second needs no step for each in an hour that nothing happens. */
  readonly leastSleepMs?: number
  /** A doom may be shared by processes, which then count their visits together. */
  readonly diesAt?: Death | Doom
}

export type CallOptions = {
  /** It fails and nothing has happened. */
  readonly fault?: FaultKind
  /** It is carried out and the answer is lost. */
  readonly unknown?: FaultKind
  /** Whoever made it gives it up, and it is carried out after that: it waited for a lock, or in a socket. */
  readonly late?: FaultKind
  /** It was on its way when whoever made it died, and is carried out when others may have looked already. */
  readonly orphan?: FaultKind
  /** Calls of one line are applied in the order in which they were made, except one that was given up. */
  readonly line?: string
}

/** What a call does at its server, told how long ago it was sent: 0 unless it comes late. */
export type Apply<T> = (lateMs: number) => T | Promise<T>

/**
 * A process of the simulation. Whatever it asks of the world goes through `call`, so that it can die at each of these
 * moments; when it has died nothing of it is applied any more and nothing is answered, as after kill -9: its promises
 * wait for ever. A restart is a new one.
 */
export type Mortal = Life & {
  readonly name: string
  /** The world's own time, which goes on whatever becomes of this process. */
  readonly world: Schedule
  readonly random: Random
  readonly faults: Faults
  readonly clock: Clock
  readonly ids: Ids
  /** Milliseconds that something on the way takes now: mostly a few, seconds where it is slow. */
  readonly latencyMs: (point: string) => number
  /** One call to the world: on its way, applied, and answered, each at a time of its own. */
  readonly call: <T>(point: string, apply: Apply<T>, options?: CallOptions) => Promise<T>
  /** A fault that belongs to this process. */
  readonly strikes: (kind: FaultKind) => boolean
}

type Born = { readonly name: string; readonly schedule: Schedule; readonly faults: Faults }

/** How long a call is on its way at most when nobody waits for it any more: a lock, a restart, an outage of the network. */
const ON_THE_WAY_MS = [50, 5000, 5000, 20_000] as const

/** @param name tells this life apart from every other, also from earlier ones of the same process */
export function mortal({ name, schedule, faults }: Born, { skewMs = 0, leastSleepMs = 0, diesAt }: MortalOptions = {}): Mortal {
  const random = schedule.random.fork(`process/${name}`)
  const forkOf = forks(random)
  const living = life(name, schedule)
  const strikes = (kind: FaultKind): boolean => faults.strikes(kind, forkOf(`fault/${kind}`))
  const latencyMs = (point: string): number => {
    const draws = forkOf(`latency/${point}`)
    if (strikes('slow')) return draws.between(500, 5000)
    // Most calls are quick, so that the few that are not are overtaken by many.
    return draws.chance(0.03) ? draws.between(0, 50) : draws.between(0, 2)
  }
  // Its wall clock may be off; its monotonic one begins with its life, and no other process's says the same.
  const bornAt = schedule.now()
  const clock = virtualClock(
    { now: () => schedule.now() + skewMs, monotonicMs: () => schedule.now() - bornAt },
    (ms, action, label = 'wake') => living.later(Math.max(ms, leastSleepMs), action, label),
  )
  const isDoomed = typeof diesAt === 'function' ? diesAt : doom(diesAt === undefined ? [] : [diesAt])
  return {
    ...living,
    name,
    world: schedule,
    random,
    faults,
    clock,
    ids: systemIds(() => clock.now(), random.fork('ids').bytes),
    latencyMs,
    strikes,
    call: caller({
      later: living.later,
      land: (point, apply) => {
        const draws = forkOf('late')
        const lateMs = draws.between(0, draws.pick(ON_THE_WAY_MS))
        // Nobody waits for it any more, and what it comes to is nobody's.
        const carryOut = (): void => void (async () => apply(lateMs))().catch(() => undefined)
        schedule.later(lateMs, carryOut, `${name} ${point} comes late`)
      },
      latencyMs,
      strikes,
      mayFreeze: () => void (strikes('frozen') && living.freeze(forkOf('frozen').between(1000, 40_000))),
      // Deaths are counted by their moment, so that the report shows every one that was met.
      survives(point, when) {
        if (!living.alive()) return false
        // A call that came to nothing is no visit of a planned death: what it is to come after has not been done.
        const isPlanned = when !== 'failed' && isDoomed(point, when)
        if (!isPlanned && !strikes(when === 'before' ? 'killBefore' : 'killAfter')) return true
        faults.count(when === 'failed' ? `killed after a failed ${point}` : `killed ${when} ${point}`)
        living.kill()
        return false
      },
    }),
  }
}

/** Counts the visits of the moments at which somebody is to die. @param counts whether visits count just now */
export function doom(deaths: readonly Death[], counts: () => boolean = () => true): Doom {
  const left = deaths.map((death) => ({ ...death, visits: 0 }))
  return (point, when) => {
    if (!counts()) return false
    const met = left.filter((one) => one.point === point && one.when === when)
    for (const one of met) one.visits += 1
    return met.some(({ visit, visits }) => visits === visit)
  }
}

type Parts = Pick<Mortal, 'later' | 'latencyMs' | 'strikes'> & {
  readonly survives: (point: string, when: Death['when'] | 'failed') => boolean
  readonly mayFreeze: () => void
  /** Carries something out after a while, whatever becomes of the process. */
  readonly land: (point: string, apply: Apply<unknown>) => void
}

function caller({ later, latencyMs, survives, strikes, mayFreeze, land }: Parts): Mortal['call'] {
  const lines = new Map<string, Promise<void>>()

  return <T>(point: string, apply: Apply<T>, { fault, unknown, late, orphan, line }: CallOptions = {}) =>
    new Promise<T>((resolve, reject) => {
      const applied = Promise.withResolvers<void>()
      const answer = (when: 'after' | 'failed', settle: () => void): void => {
        applied.resolve()
        if (survives(point, when)) later(latencyMs(point), settle, `${point} answered`)
      }
      const fail = (when: 'after' | 'failed', why: string): void => answer(when, () => reject(new Fault(`${point}: ${why}`)))
      const leave = (): void => void (orphan && strikes(orphan) && land(point, apply))
      const arrive = (): void => {
        if (!survives(point, 'before')) return leave()
        if (fault && strikes(fault)) return fail('failed', 'no connection')
        if (late && strikes(late)) {
          land(point, apply)
          return fail('failed', 'no answer came in time')
        }
        // Applied in this very step: between the look at the clock and what is done nothing can come.
        const outcome = (async () => apply(0))()
        outcome.then(
          () => {
            if (unknown && strikes(unknown)) fail('after', 'the answer was lost')
            else answer('after', () => resolve(outcome))
          },
          () => answer('failed', () => resolve(outcome)),
        )
      }
      const depart = (): void => void later(latencyMs(point), arrive, point, leave)
      mayFreeze()
      if (line === undefined) return depart()
      const before = lines.get(line)
      lines.set(line, applied.promise)
      if (before) void before.then(depart)
      else depart()
    })
}
