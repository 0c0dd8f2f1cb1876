import { eventStoreContract } from '@penstock/ports/event-store.contract.ts'
import { afterAll, beforeAll } from 'vitest'
import { startKurrentDouble } from './double/server.ts'
import { createKurrentFixture, createNamespacedFixture } from './store-fixture.ts'

eventStoreContract(
  "KurrentDB's protocol, by BatchAppend",
  async () => {
    const server = await startKurrentDouble()
    return createKurrentFixture(server.url, async () => server.stop())
  },
  { processes: true },
)

/** One server for all fixtures, as in the suite for a real server. */
let shared: Awaited<ReturnType<typeof startKurrentDouble>>
beforeAll(async () => {
  shared = await startKurrentDouble({ hasBatchAppend: false })
})
afterAll(() => shared.stop())
eventStoreContract("KurrentDB's protocol, by Append", async () => createNamespacedFixture(shared.url))
