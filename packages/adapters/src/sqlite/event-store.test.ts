import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventStoreContract } from '@penstock/ports/event-store.contract.ts'
import { runChild } from '../shared/child.ts'
import { sqliteEventStore } from './event-store.ts'
import { openLog } from './log.ts'

const child = new URL('./event-store.child.ts', import.meta.url)

eventStoreContract(
  'SQLite',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'penstock-log-'))
    const path = join(folder, 'market.db')
    let close = async (): Promise<void> => {}
    const open = async () => {
      const log = openLog(path, { pollMs: 5 })
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
      crash: (moment, ...append) => runChild(child, { path, moment, append }, 'SIGKILL'),
      elsewhere: (...append) => runChild(child, { path, moment: 'none', append }, null),
      async teardown() {
        await close()
        await rm(folder, { recursive: true })
      },
    }
  },
  { processes: true },
)
