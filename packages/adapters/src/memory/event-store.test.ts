import type { EventStore } from '@penstock/ports/event-store.ts'
import { eventStoreContract } from '@penstock/ports/event-store.contract.ts'
import { createEventMemory, memoryEventStore } from './event-store.ts'

eventStoreContract('memory', async () => {
  const memory = createEventMemory()
  let store: EventStore | undefined
  const open = async (): Promise<EventStore> => (store = memoryEventStore(memory))
  return {
    open,
    reopen: async () => {
      await store?.close()
      return open()
    },
    teardown: async () => store?.close(),
  }
})
