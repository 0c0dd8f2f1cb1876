import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { runWorkerProcess } from '@penstock/child-processes/run-script.ts'
import { eventStoreContract } from '@penstock/ports/event-store.contract.ts'
import { sharedPostgres } from './server.ts'
import { createEmptyDatabase, TEST_EVENT_LOGS } from './stores.ts'

const child = new URL('./event-store.child.ts', import.meta.url)

eventStoreContract(
  'PostgreSQL',
  async () => {
    const url = await createEmptyDatabase(sharedPostgres)
    let close = async (): Promise<void> => {}
    const open = async () => {
      const store = await postgresEventStore({ logs: TEST_EVENT_LOGS, url })
      close = () => store.close()
      return store
    }
    return {
      open,
      async reopen() {
        await close()
        return open()
      },
      crash: (moment, ...append) => runWorkerProcess(child, { url, moment, append }, 'SIGKILL'),
      elsewhere: (...append) => runWorkerProcess(child, { url, moment: 'none', append }, null),
      teardown: () => close(),
    }
  },
  { processes: true },
)
