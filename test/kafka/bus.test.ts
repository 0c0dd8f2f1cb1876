import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runChild } from '@penstock/adapters/shared/child.ts'
import { busContract } from '@penstock/ports/bus.contract.ts'
import { describe } from 'vitest'
import { brokers, busOptions, noKafka, openBus, ownPrefix } from './servers.ts'

const child = new URL('./bus.child.ts', import.meta.url)

describe.skipIf(noKafka)('on a real broker', () => {
  const servers = brokers()
  busContract(
    'Kafka',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'penstock-kafka-bus-'))
      const file = join(folder, 'views.db')
      const options = busOptions(servers(), ownPrefix())
      let close = async (): Promise<void> => {}
      const open = async () => {
        const opened = await openBus(options, file)
        close = () => opened.close()
        return opened.bus
      }
      return {
        open,
        async reopen() {
          await close()
          return open()
        },
        async crash(moment, topic, messages) {
          const journal = join(folder, 'handled')
          await runChild(child, { options, file, journal, moment, topic, messages }, 'SIGKILL')
          return existsSync(journal) ? readFileSync(journal, 'utf8').trim().split('\n') : []
        },
        async teardown() {
          await close()
          await rm(folder, { recursive: true })
        },
      }
    },
    { processes: true },
  )
})
