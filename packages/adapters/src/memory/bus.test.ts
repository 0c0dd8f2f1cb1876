import type { Bus } from '@penstock/ports/bus.ts'
import { busContract } from '@penstock/ports/bus.contract.ts'
import { createBusMemory, memoryBus } from './bus.ts'

busContract('memory', async () => {
  const memory = createBusMemory()
  let bus: Bus | undefined
  const open = async (): Promise<Bus> => (bus = memoryBus({ retryMinMs: 2 }, memory))
  return {
    open,
    reopen: async () => {
      await bus?.close()
      return open()
    },
    teardown: async () => bus?.close(),
  }
})
