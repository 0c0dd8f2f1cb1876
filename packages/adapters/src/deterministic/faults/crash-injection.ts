import { Fault } from '@penstock/kernel/result.ts'
import type { Clock, Ids } from '@penstock/ports/clock.ts'
import { systemIds } from '../../system/ids.ts'
import type { FaultKind, FaultInjector } from './fault-injector.ts'
import { createProcessLifetime, type ProcessLifetime } from '../process-lifetime.ts'
import { createForkCache, type Prng } from '../prng.ts'
import { type VirtualSchedule, createVirtualClock } from '../virtual-schedule.ts'

/** A process crashes at the nth visit (`visit`, from 1) of a call: before it is applied, or after it and before its answer. */
export type CrashPoint = { readonly point: string; readonly when: 'before' | 'after'; readonly visit: number }
/** @returns whether a process crashes at this visit of a point */
export type CrashTrigger = (point: string, when: CrashPoint['when']) => boolean

export type SimulatedProcessOptions = {
  /** Difference of its wall clock from the clock of the simulation, in ms. */
  readonly skewMs?: number
  /** Minimum length of a sleep in ms. A loop that polls five times per second then needs fewer steps in an idle hour. */
  readonly minSleepMs?: number
  /** Processes may share a trigger. They then count their visits together. */
  readonly crashAt?: CrashPoint | CrashTrigger
}

export type CallOptions = {
  /** The call fails without an effect. */
  readonly fault?: FaultKind
  /** The call takes effect, and its answer is lost. */
  readonly answerLost?: FaultKind
  /** The caller times out. The call takes effect later, as if it had waited for a lock or in a socket. */
  readonly late?: FaultKind
  /** The caller crashes while the call is in transit. The call takes effect later. */
  readonly orphan?: FaultKind
  /** Calls with the same key are applied in the order of the calls, except a call that has timed out. */
  readonly orderingKey?: string
}

/** The effect of a call on its server. `lateMs` is the extra delay of a late call in ms, otherwise 0. */
export type ServerHandler<T> = (lateMs: number) => T | Promise<T>

/**
 * A process of the simulation. It reaches servers only through `call`, so that it can crash at each call. After a crash only
 * injected orphan calls are still applied, and no call is answered, as after kill -9. Pending promises never settle. A restart
 * creates a new process.
 */
export type SimulatedProcess = ProcessLifetime & {
  readonly name: string
  /** The virtual time of the simulation, which continues after a crash of this process. */
  readonly schedule: VirtualSchedule
  readonly random: Prng
  readonly faults: FaultInjector
  readonly clock: Clock
  readonly ids: Ids
  /** Latency of one step in ms: usually a few, but seconds under the fault `slow`. */
  readonly latencyMs: (point: string) => number
  /** Calls a server. The request, the effect and the answer are separate steps, each with its own latency. */
  readonly call: <T>(point: string, apply: ServerHandler<T>, options?: CallOptions) => Promise<T>
  /** Decides whether a fault happens to this process now. */
  readonly isInjected: (kind: FaultKind) => boolean
}

type ProcessContext = { readonly name: string; readonly schedule: VirtualSchedule; readonly faults: FaultInjector }

/** Upper bounds in ms; one of them, drawn at random, limits the extra delay of a late call. */
const LATE_CALL_MS = [50, 5000, 5000, 20_000] as const

/** @param name is unique for each start, so that a restarted process has another name */
export function createSimulatedProcess(
  { name, schedule, faults }: ProcessContext,
  { skewMs = 0, minSleepMs = 0, crashAt }: SimulatedProcessOptions = {},
): SimulatedProcess {
  const random = schedule.random.fork(`process/${name}`)
  const forkOf = createForkCache(random)
  const lifetime = createProcessLifetime(name, schedule)
  const isInjected = (kind: FaultKind): boolean => faults.isInjected(kind, forkOf(`fault/${kind}`))
  const latencyMs = (point: string): number => {
    const prng = forkOf(`latency/${point}`)
    if (isInjected('slow')) return prng.between(500, 5000)
    // Most calls are quick, so that many calls overtake a slow one.
    return prng.chance(0.03) ? prng.between(0, 50) : prng.between(0, 2)
  }
  // The wall clock of the process may be skewed. Its monotonic clock is 0 at the start of the process.
  const startedAt = schedule.now()
  const clock = createVirtualClock(
    { now: () => schedule.now() + skewMs, monotonicMs: () => schedule.now() - startedAt },
    (ms, action, label = 'wake') => lifetime.later(Math.max(ms, minSleepMs), action, label),
  )
  const isCrashDue = typeof crashAt === 'function' ? crashAt : createCrashTrigger(crashAt === undefined ? [] : [crashAt])
  return {
    ...lifetime,
    name,
    schedule,
    random,
    faults,
    clock,
    ids: systemIds(() => clock.now(), random.fork('ids').bytes),
    latencyMs,
    isInjected,
    call: createCaller({
      later: lifetime.later,
      applyLate: (point, apply) => {
        const prng = forkOf('late')
        const lateMs = prng.between(0, prng.pick(LATE_CALL_MS))
        // The caller no longer waits, so the result and any error are dropped.
        const carryOut = (): void => void (async () => apply(lateMs))().catch(() => undefined)
        schedule.later(lateMs, carryOut, `${name} ${point} comes late`)
      },
      latencyMs,
      isInjected,
      injectFreeze: () => void (isInjected('frozen') && lifetime.freeze(forkOf('frozen').between(1000, 40_000))),
      // Crashes are counted per point and moment, so that the report shows which of them occurred.
      maySurvive(point, when) {
        if (!lifetime.isAlive()) return false
        // A failed call is no visit of a planned crash, because its effect, which has to precede the crash, is missing.
        const isPlanned = when !== 'failed' && isCrashDue(point, when)
        if (!isPlanned && !isInjected(when === 'before' ? 'killBefore' : 'killAfter')) return true
        faults.count(when === 'failed' ? `killed after a failed ${point}` : `killed ${when} ${point}`)
        lifetime.kill()
        return false
      },
    }),
  }
}

/** Counts the visits of each crash point. @param counts whether visits count now */
export function createCrashTrigger(crashPoints: readonly CrashPoint[], counts: () => boolean = () => true): CrashTrigger {
  const crashPointVisits = crashPoints.map((crashPoint) => ({ ...crashPoint, visits: 0 }))
  return (point, when) => {
    if (!counts()) return false
    const matching = crashPointVisits.filter((one) => one.point === point && one.when === when)
    for (const one of matching) one.visits += 1
    return matching.some(({ visit, visits }) => visits === visit)
  }
}

type CallerContext = Pick<SimulatedProcess, 'later' | 'latencyMs' | 'isInjected'> & {
  readonly maySurvive: (point: string, when: CrashPoint['when'] | 'failed') => boolean
  readonly injectFreeze: () => void
  /** Applies a call after a delay, even if the process has crashed by then. */
  readonly applyLate: (point: string, apply: ServerHandler<unknown>) => void
}

function createCaller({
  later,
  latencyMs,
  maySurvive,
  isInjected,
  injectFreeze,
  applyLate,
}: CallerContext): SimulatedProcess['call'] {
  const lastCalls = new Map<string, Promise<void>>()

  return <T>(point: string, apply: ServerHandler<T>, { fault, answerLost, late, orphan, orderingKey }: CallOptions = {}) =>
    new Promise<T>((resolve, reject) => {
      const applied = Promise.withResolvers<void>()
      const answer = (when: 'after' | 'failed', settle: () => void): void => {
        applied.resolve()
        if (maySurvive(point, when)) later(latencyMs(point), settle, `${point} answered`)
      }
      const fail = (when: 'after' | 'failed', why: string): void => answer(when, () => reject(new Fault(`${point}: ${why}`)))
      const injectOrphan = (): void => void (orphan && isInjected(orphan) && applyLate(point, apply))
      const arrive = (): void => {
        if (!maySurvive(point, 'before')) return injectOrphan()
        if (fault && isInjected(fault)) return fail('failed', 'no connection')
        if (late && isInjected(late)) {
          applyLate(point, apply)
          return fail('failed', 'no answer came in time')
        }
        // The call is applied in this very step, so nothing can run between the clock check and the effect.
        const outcome = (async () => apply(0))()
        outcome.then(
          () => {
            if (answerLost && isInjected(answerLost)) fail('after', 'the answer was lost')
            else answer('after', () => resolve(outcome))
          },
          () => answer('failed', () => resolve(outcome)),
        )
      }
      const send = (): void => void later(latencyMs(point), arrive, point, injectOrphan)
      injectFreeze()
      if (orderingKey === undefined) return send()
      const before = lastCalls.get(orderingKey)
      lastCalls.set(orderingKey, applied.promise)
      if (before) void before.then(send)
      else send()
    })
}
