import type { DeadlineStep } from '@penstock/kernel/process.ts'
import type { Timer, Timers } from '@penstock/ports/timers.ts'
import { LRUCache } from 'lru-cache'
import { STREAM_CACHE_SIZE } from '../stream-cache-size.ts'

/** The deadlines that this process has set for each stream, so that timers are written only when they change. */
export type TimerIndex = {
  /** Sets the deadlines that a stream waits for at a revision. */
  set(stream: string, revision: number, steps: readonly DeadlineStep[]): Promise<void>
  /** Forgets the deadlines of a stream, because another process may have set others. */
  forget(stream: string): void
  /** Whether a deadline that this process set has passed since the last call. */
  hasPassed(now: number, height: number | undefined): boolean
}

export function createTimerIndex(timers: Timers, service: string): TimerIndex {
  type LastSet = { readonly revision: number; readonly wanted: string; readonly steps: readonly string[] }
  const lastSet = new LRUCache<string, LastSet>({ max: STREAM_CACHE_SIZE })
  const pending = createPendingDeadlines()
  return {
    async set(stream, revision, steps) {
      const wantedTimers: Timer[] = steps.map(({ step, due, command }) => ({ step, due, command }))
      const wanted = JSON.stringify(wantedTimers)
      const last = lastSet.get(stream)
      // Runs of one stream's process may overtake each other, so only the deadlines of the newest revision count.
      if (last && last.revision > revision) return
      const names = wantedTimers.map(({ step }) => step)
      if (last ? last.wanted !== wanted : steps.length > 0) {
        // A later call may overtake this write, or the write may fail after a part of it.
        if (last) lastSet.set(stream, { ...last, steps: [...new Set([...last.steps, ...names])] })
        await timers.replace(service, stream, wantedTimers, revision, last?.steps)
        pending.add(wantedTimers)
      }
      if ((lastSet.get(stream)?.revision ?? -1) <= revision) lastSet.set(stream, { revision, wanted, steps: names })
    },
    forget: (stream) => lastSet.delete(stream),
    hasPassed: pending.hasPassed,
  }
}

/** The instants and heights of timers, so that an idle process need not read the table of timers at each second. */
function createPendingDeadlines() {
  const seconds = new Set<number>()
  const heights = new Set<number>()
  return {
    add(timers: readonly Timer[]): void {
      for (const { due } of timers) {
        if ('height' in due) heights.add(due.height)
        else seconds.add(Math.ceil(due.at / 1000))
      }
    },
    hasPassed: (now: number, height = -1): boolean => {
      const havePassed = [deleteUpTo(seconds, Math.floor(now / 1000)), deleteUpTo(heights, height)]
      return havePassed.includes(true)
    },
  }
}

/** @returns whether it deleted a number */
function deleteUpTo(numbers: Set<number>, last: number): boolean {
  const { size } = numbers
  for (const one of numbers) if (one <= last) numbers.delete(one)
  return numbers.size < size
}
