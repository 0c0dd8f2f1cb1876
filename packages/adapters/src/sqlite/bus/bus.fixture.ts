import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BusFixture } from '@penstock/ports/bus.contract.ts'
import { runWorkerProcess } from '@penstock/child-processes/run-script.ts'
import { sqliteBus } from './bus.ts'
import { openMarketLog } from '../market-log.ts'

const child = new URL('./bus.child.ts', import.meta.url)

/** A bus in a temporary folder. */
export async function openSqliteBus(): Promise<BusFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bus-'))
  const path = join(folder, 'market.db')
  let close = async (): Promise<void> => {}
  const open = async () => {
    const log = openMarketLog(path, { pollMs: 5 })
    const bus = sqliteBus(log, { retryMinMs: 2 })
    close = async () => {
      await bus.close()
      await log.close()
    }
    return bus
  }
  return {
    open,
    async reopen() {
      await close()
      return open()
    },
    async crash(moment, topic, messages) {
      const journal = join(folder, 'handled')
      await runWorkerProcess(child, { path, journal, moment, topic, messages }, 'SIGKILL')
      return existsSync(journal) ? readFileSync(journal, 'utf8').trim().split('\n') : []
    },
    async teardown() {
      await close()
      await rm(folder, { recursive: true })
    },
  }
}
