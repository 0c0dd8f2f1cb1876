import { command } from '@penstock/kernel/process.ts'
import type { SellerTarget } from '@penstock/contracts/matching.ts'
import type { OrderBook } from '@penstock/market/order-book.ts'
import type { ServiceJob } from '@penstock/runtime/service.ts'
import { heartbeatKey, type MatchingPorts } from '../enrich.ts'

const CHECKS_PER_WINDOW = 10

/**
 * Finds live sellers whose heartbeat is missing. Restarts and several replicas are harmless, because the stream records a
 * silence once. After a start every seller has one full window, because no heartbeat can arrive while the process is down.
 */
export const watchLiveness = (book: OrderBook): ServiceJob<MatchingPorts> => ({
  name: 'watch-liveness',
  sends: ['seller.LapseSilence'],
  run: async ({ ports: { clock, config, ids, limits }, decide }, signal) => {
    const liveMs = config.liveSeconds * 1000
    const startedAtMs = clock.monotonicMs()
    while (!signal.aborted) {
      await clock.sleep(liveMs / CHECKS_PER_WINDOW, signal)
      for (const pubkey of book.liveSellers()) {
        const lastSeenAt = (await limits.lastSeen(heartbeatKey(pubkey))) ?? 0
        // Another replica may have written the heartbeat, so its time is wall-clock time. The start uses the monotonic clock.
        const isSilent = lastSeenAt + liveMs <= clock.now() && clock.monotonicMs() - startedAtMs >= liveMs
        if (isSilent && !signal.aborted)
          await decide(command<SellerTarget>('seller', pubkey, { type: 'LapseSilence', data: {} }), ids.uuid())
      }
    }
  },
})
