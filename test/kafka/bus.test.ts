import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runWorkerProcess } from '@penstock/child-processes/run-script.ts'
import { busContract } from '@penstock/ports/bus.contract.ts'
import type { BusMessage } from '@penstock/ports/bus.ts'
import { describe } from 'vitest'
import { getSharedBroker, createBusOptions, isKafkaMissing, openKafkaBus, createPrefix } from './servers.ts'

/** The messages of the contract that get partitions of their own. */
const isLowPriority = ({ headers }: BusMessage): boolean => headers['unpaid'] === 'yes'

const child = new URL('./bus.child.ts', import.meta.url)

describe.skipIf(isKafkaMissing)('on a real broker', () => {
  busContract(
    'Kafka',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'penstock-kafka-bus-'))
      const file = join(folder, 'views.db')
      const options = createBusOptions(getSharedBroker(), createPrefix())
      let close = async (): Promise<void> => {}
      const open = async () => {
        const opened = await openKafkaBus({ ...options, isLowPriority }, file)
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
          await runWorkerProcess(child, { options, file, journal, moment, topic, messages }, 'SIGKILL')
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
