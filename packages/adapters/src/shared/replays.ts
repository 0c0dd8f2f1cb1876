import type { Handled } from '@penstock/ports/bus.ts'
import type { LaneSource, Sequenced } from './lane-source.ts'

/** Hands the messages of a parked key over in order, those too that come meanwhile, until none is left or one cannot be handled. */
export async function replayKey(
  source: LaneSource,
  key: string,
  call: (message: Sequenced) => Promise<Handled>,
  untilItWorks: (attempt: () => Promise<void>) => Promise<boolean>,
  stop: AbortSignal,
): Promise<'free' | 'parked'> {
  while (!stop.aborted) {
    const message = source.firstParked(key)
    if (!message) {
      if (await source.release(key)) return 'free'
      continue
    }
    let parkedAgain = false
    const worked = await untilItWorks(async () => {
      const outcome = await call(message)
      parkedAgain = outcome !== 'done'
      await (outcome === 'done' ? source.unpark(message) : source.park(message, outcome.park))
    })
    if (!worked || parkedAgain) break
  }
  return 'parked'
}
