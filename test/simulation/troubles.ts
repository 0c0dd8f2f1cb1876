import type { Apply, Mortal } from '@penstock/adapters/seeded/mortal.ts'

/**
 * What keeps processes from their own work: a start, standing still, and servers that do not answer. A bus or a lease that
 * fails is none of it: whoever watches over money waits for neither.
 */
export type Troubles = {
  /** The same process, with its calls watched. */
  watched(name: string, process: Mortal): Mortal
  /** Since when nothing has troubled the process of this name, in the world's time; now, while something does. */
  calmSinceMs(name: string): number
}

const SERVERS = ['chain.', 'lightning.', 'store.', 'sql.']
/** Calls that a server which is up always answers: one that it fails by itself, struck by nothing, excuses nobody. */
const isAnsweredWhenUp = (point: string): boolean =>
  point.startsWith('chain.') || point.startsWith('lightning.holds.') || point === 'lightning.info'
/** Most calls take 50 ms at the most, and a few of them wait for each other at the database. */
const SLOW_MS = 250

/** What failed to be written is tried again after a while that doubles, up to this. */
const LONGEST_BACKOFF_MS = 5000

type Of = {
  readonly process: Mortal
  readonly pending: Set<{ readonly sinceMs: number }>
  troubledMs: number
  /** By the call that writes: since when none has succeeded, and one has failed. */
  readonly unwrittenSinceMs: Map<string, number>
  /** Its guard has begun: the start is over. */
  hasLooked: boolean
}

const GUARD_LOOKS = 'lightning.holds.held'
/** What nobody goes on without: facts, and the tables that a start writes before its guard begins. */
const isAwaited = (point: string, { hasLooked }: Of): boolean =>
  point === 'store.append' || (point === 'sql.commit' && !hasLooked)

/** @param isNodeUp whether the market's own node is there to answer */
export function openTroubles(now: () => number, isNodeUp: () => boolean): Troubles {
  const all = new Map<string, Of>()
  const isExcuse = (point: string, isOwnFault: boolean): boolean =>
    SERVERS.some((server) => point.startsWith(server)) &&
    !(isOwnFault && isAnsweredWhenUp(point) && (point.startsWith('chain.') || isNodeUp()))
  const end = (of: Of, call: { readonly sinceMs: number }, hasFailed: boolean): void => {
    of.pending.delete(call)
    if (hasFailed || now() - call.sinceMs > SLOW_MS) of.troubledMs = Math.max(of.troubledMs, now())
  }
  // Whoever tries again waits about as long as it has tried already, with nothing pending meanwhile.
  const noteWrite = (of: Of, point: string, hasFailed: boolean): void => {
    if (!hasFailed) return void of.unwrittenSinceMs.delete(point)
    const sinceMs = of.unwrittenSinceMs.get(point) ?? now()
    of.unwrittenSinceMs.set(point, sinceMs)
    of.troubledMs = Math.max(of.troubledMs, now() + Math.min(LONGEST_BACKOFF_MS, now() - sinceMs))
  }
  return {
    watched(name, process) {
      const of: Of = { process, pending: new Set(), troubledMs: now(), unwrittenSinceMs: new Map(), hasLooked: false }
      all.set(name, of)
      return {
        ...process,
        freeze(ms) {
          of.troubledMs = now() + ms
          process.freeze(ms)
        },
        call(point, apply, options) {
          const call = { sinceMs: now() }
          of.hasLooked ||= point === GUARD_LOOKS
          of.pending.add(call)
          const applied = noted(apply)
          const answer = process.call(point, applied.apply, options)
          const finish = (hasFailed: boolean): void => {
            end(of, call, hasFailed && isExcuse(point, applied.hasFailed()))
            if (isAwaited(point, of)) noteWrite(of, point, hasFailed)
          }
          answer.then(
            () => finish(false),
            () => finish(true),
          )
          return answer
        },
      }
    },
    calmSinceMs(name) {
      const of = all.get(name)
      if (!of?.process.alive()) return now()
      for (const { sinceMs } of of.pending) if (now() - sinceMs > SLOW_MS) return now()
      return of.troubledMs
    },
  }
}

/** The same call, with whether it failed where it was carried out; else it failed on its way. */
function noted<T>(apply: Apply<T>): { readonly apply: Apply<T>; readonly hasFailed: () => boolean } {
  let hasFailed = false
  const failed = (): void => void (hasFailed = true)
  return {
    apply(lateMs) {
      try {
        const answer = apply(lateMs)
        if (answer instanceof Promise) answer.catch(failed)
        return answer
      } catch (error) {
        failed()
        throw error
      }
    },
    hasFailed: () => hasFailed,
  }
}
