import { seller } from '@penstock/contracts/matching.ts'
import type { Book } from '@penstock/market/book.ts'
import { ask, type Job } from '@penstock/runtime/service.ts'
import { heartbeatKey, type MatchingPorts } from '../enrich.ts'

const LOOKS_PER_WINDOW = 10

/**
 * Looks for live sellers whose heartbeat is missing. Nothing is remembered between looks, so it survives restarts and
 * any number of replicas may look: the stream records a silence once. Whoever starts gives every seller one window,
 * since nobody could be heard while nobody listened.
 */
export const watchLiveness = (book: Book): Job<MatchingPorts> => ({
  name: 'watch-liveness',
  run: async ({ ports: { clock, config, ids, limits }, decide }, signal) => {
    const liveMs = config.liveSeconds * 1000
    const startedAtMs = clock.monotonicMs()
    while (!signal.aborted) {
      await clock.sleep(liveMs / LOOKS_PER_WINDOW, signal)
      for (const pubkey of book.liveSellers()) {
        const lastSeenAt = (await limits.lastSeen(heartbeatKey(pubkey))) ?? 0
        // The heartbeat is a stored instant, which another replica may have written; since the start it is our own clock.
        const silent = lastSeenAt + liveMs <= clock.now() && clock.monotonicMs() - startedAtMs >= liveMs
        if (silent && !signal.aborted) await decide(ask(seller, pubkey, 'LapseSilence', {}), ids.uuid())
      }
    }
  },
})
