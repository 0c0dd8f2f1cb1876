import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { runChild } from '@penstock/adapters/shared/child.ts'
import { eventStoreContract } from '@penstock/ports/event-store.contract.ts'
import { aServer } from './server.ts'
import { emptyTables, logs } from './stores.ts'

const server = aServer()
const child = new URL('./event-store.child.ts', import.meta.url)

eventStoreContract(
  'PostgreSQL',
  async () => {
    const url = await emptyTables(server())
    let close = async (): Promise<void> => {}
    const open = async () => {
      const store = await postgresEventStore({ logs, url })
      close = () => store.close()
      return store
    }
    return {
      open,
      async reopen() {
        await close()
        return open()
      },
      crash: (moment, ...append) => runChild(child, { url, moment, append }, 'SIGKILL'),
      elsewhere: (...append) => runChild(child, { url, moment: 'none', append }, null),
      teardown: () => close(),
    }
  },
  { processes: true },
)
