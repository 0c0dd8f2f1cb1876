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
}

export function createTimerIndex(timers: Timers, service: string): TimerIndex {
  const lastSet = new LRUCache<string, { readonly revision: number; readonly wanted: string }>({ max: STREAM_CACHE_SIZE })
  return {
    async set(stream, revision, steps) {
      const wantedTimers: Timer[] = steps.map(({ step, due, command }) => ({ step, due, command }))
      const wanted = JSON.stringify(wantedTimers)
      const last = lastSet.get(stream)
      // Runs of one stream's process may overtake each other, so only the deadlines of the newest revision count.
      if (last && last.revision > revision) return
      if (last ? last.wanted !== wanted : steps.length > 0) await timers.replace(service, stream, wantedTimers, revision)
      if ((lastSet.get(stream)?.revision ?? -1) <= revision) lastSet.set(stream, { revision, wanted })
    },
    forget: (stream) => lastSet.delete(stream),
  }
}
