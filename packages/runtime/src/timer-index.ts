import type { DeadlineStep } from '@penstock/kernel/process.ts'
import type { Timer, Timers } from '@penstock/ports/timers.ts'
import { lru, STREAMS_UNDER_WAY } from './lru.ts'

/** What this process has set for each stream, so that the index is written only where it changes. */
export type TimerIndex = {
  /** The deadlines that a stream waits for at a revision. */
  set(stream: string, revision: number, steps: readonly DeadlineStep[]): Promise<void>
  /** Somebody else may have set others. */
  forget(stream: string): void
}

export function timerIndex(timers: Timers, service: string): TimerIndex {
  const known = lru<string, { readonly revision: number; readonly wanted: string }>(STREAMS_UNDER_WAY)
  return {
    async set(stream, revision, steps) {
      const wantedTimers: Timer[] = steps.map(({ step, due, command }) => ({ step, due, command }))
      const wanted = JSON.stringify(wantedTimers)
      const last = known.get(stream)
      // Runs of one stream's process may overtake each other: the newer one has said what is waited for.
      if (last && last.revision > revision) return
      if (last ? last.wanted !== wanted : steps.length > 0) await timers.replace(service, stream, wantedTimers, revision)
      if ((known.get(stream)?.revision ?? -1) <= revision) known.set(stream, { revision, wanted })
    },
    forget: (stream) => known.delete(stream),
  }
}
