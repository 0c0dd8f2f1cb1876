import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EventStoreFixture } from '@penstock/ports/event-store.contract.ts'
import { runWorkerProcess } from '@penstock/child-processes/run-script.ts'
import { sqliteEventStore } from './event-store.ts'
import { openMarketLog } from './market-log.ts'

const child = new URL('./event-store.child.ts', import.meta.url)

/** An event store in a temporary folder. */
export async function openSqliteEventStore(): Promise<EventStoreFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-log-'))
  const path = join(folder, 'market.db')
  let close = async (): Promise<void> => {}
  const open = async () => {
    const log = openMarketLog(path, { pollMs: 5 })
    const store = sqliteEventStore(log)
    close = async () => {
      await store.close()
      await log.close()
    }
    return store
  }
  return {
    open,
    async reopen() {
      await close()
      return open()
    },
    crash: (moment, ...append) => runWorkerProcess(child, { path, moment, append }, 'SIGKILL'),
    elsewhere: (...append) => runWorkerProcess(child, { path, moment: 'none', append }, null),
    async teardown() {
      await close()
      await rm(folder, { recursive: true })
    },
  }
}
