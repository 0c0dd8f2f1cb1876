import { openConnectionPool } from '@penstock/adapters/postgres/pool.ts'
import { runWithLowPriority } from '@penstock/runtime/commands/low-priority.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { expect, onTestFinished, test } from 'vitest'
import { sharedPostgres } from './server.ts'
import { createEmptyDatabase } from './stores.ts'

test('low-priority work leaves two connections to other work, and waits in order for its own', async () => {
  const pool = openConnectionPool({ url: await createEmptyDatabase(sharedPostgres), connections: 3 })
  onTestFinished(() => pool.end())
  const connectLow = () => runWithLowPriority(() => pool.connect())
  const first = await connectLow()
  let second: Awaited<ReturnType<typeof connectLow>> | undefined
  const connecting = connectLow().then((connection) => (second = connection))
  const others = [await pool.connect(), await pool.connect()]
  expect(second).toBeUndefined()
  for (const other of others) {
    await other.query('select 1')
    other.release()
  }
  expect(second).toBeUndefined()
  first.release()
  await waitUntil('the next one has its connection', () => second !== undefined)
  await connecting
  second?.release(true)
  await runWithLowPriority(() => pool.query('select 1'))
})
