import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { logTableOf } from '@penstock/adapters/postgres/event-logs.ts'
import { openConnectionPool } from '@penstock/adapters/postgres/pool.ts'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { accept, type Decider } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { assert } from '@penstock/kernel/result.ts'
import { command } from '@penstock/kernel/process.ts'
import { commandToBus, commandTopic, newCommand } from '@penstock/runtime/commands/messages.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { defineAggregate, defineService } from '@penstock/runtime/service.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { uuidFor } from '@penstock/testkit/book-entries.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { expect, onTestFinished, test } from 'vitest'
import { sharedPostgres } from './server.ts'
import { createEmptyDatabase, TEST_EVENT_LOGS } from './stores.ts'

type ClaimPayhash = Command<'ClaimPayhash', { orderId: string }>
const decider: Decider<object, ClaimPayhash, Fact<'PayhashClaimed', { orderId: string }>> = {
  initial: {},
  evolve: (state) => state,
  decide: (_, { data }) => accept({ type: 'PayhashClaimed', v: 1, data: { orderId: data.orderId } }),
}
const own = contractOf('payhash')
const { ClaimPayhash: claim } = own.commands
assert(claim, 'payhash has this command')
/** In the market, only settlement itself sends this command. */
const contract = { ...own, commands: { ClaimPayhash: { ...claim, from: ['order'] } } }
const claims = defineService('settlement', {
  aggregates: [defineAggregate({ contract, decider, hashed: { version: 1, projections: { 1: (state) => state } } })],
})

test('the facts of commands that arrive together are stored by few transactions', async () => {
  const url = await createEmptyDatabase(sharedPostgres)
  const [store, pool] = [await postgresEventStore({ logs: TEST_EVENT_LOGS, url }), openConnectionPool({ url })]
  const { platform } = await createMemoryPlatform()
  const running = await run([bind(claims, {})], { ...platform, store })
  onTestFinished(async () => {
    await running.close()
    await store.close()
    await pool.end()
  })
  const count = 200
  const messages = Array.from({ length: count }, (_, n) => {
    const {
      category,
      id: aggregateId,
      command: body,
    } = command('payhash', `hash${n}`, { type: 'ClaimPayhash', data: { orderId: uuidFor(n) } })
    return commandToBus(newCommand({ id: `c${n}`, category, aggregateId, command: body, at: 0, correlation: `hash${n}` }))
  })
  await platform.bus.publish(commandTopic('settlement', 'order'), messages)
  const read = async () => {
    const { rows } = await pool.query<{ events: string; transactions: string }>({
      text: `select count(*) as events, count(distinct xmin::text) as transactions from ${logTableOf('settlement')} where stream like 'payhash-hash%'`,
      values: [],
    })
    return rows[0]
  }
  await waitUntil('all facts are stored', async () => Number((await read())?.events) === count)
  expect(Number((await read())?.transactions)).toBeLessThan(count / 10)
})
