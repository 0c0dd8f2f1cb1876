import { createMutex } from '@penstock/kernel/mutex.ts'
import { systemChance } from '@penstock/adapters/system/chance.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { openStoreAt } from '@penstock/platforms/open-store.ts'
import { retryUntil } from '@penstock/runtime/retry.ts'
import { createFold, type Fold } from './fold.ts'

const STORE_RETRY_MS = 60_000

/** Opens the fold of a market whose event store is a server. Reads are retried for a minute while the server is unavailable. */
export async function openFoldOfServer(dataDir: string): Promise<Fold> {
  const store = await openStoreAt(dataDir)
  const fold = createFold({
    close: () => store.close(),
    readAll: (...args) =>
      retryUntil(
        { clock: systemClock, ids: systemChance },
        AbortSignal.timeout(STORE_RETRY_MS),
        () => store.readAll(...args),
        (error) => error instanceof Fault,
      ),
  })
  // Concurrent calls are serialised, so that no page is folded twice.
  const runAlone = createMutex()
  return { ...fold, catchUp: () => runAlone(() => fold.catchUp()) }
}
