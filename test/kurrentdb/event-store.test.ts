import { eventStoreContract } from '@penstock/ports/event-store.contract.ts'
import { afterAll, beforeAll } from 'vitest'
import { kurrentDouble } from './double/server.ts'
import { kurrentWorld, worldAmongOthers } from './world.ts'

eventStoreContract(
  "KurrentDB's protocol, by BatchAppend",
  async () => {
    const server = await kurrentDouble()
    return kurrentWorld(server.url, async () => server.stop())
  },
  { processes: true },
)

/** As against a real server, which all worlds share. */
let shared: Awaited<ReturnType<typeof kurrentDouble>>
beforeAll(async () => {
  shared = await kurrentDouble({ batches: false })
})
afterAll(() => shared.stop())
eventStoreContract("KurrentDB's protocol, by Append", async () => worldAmongOthers(shared.url))
