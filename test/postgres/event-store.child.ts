/** The child process of the contract suite. It appends the events of its argument, and may kill itself before or after. */
import { appendFunctionOf } from '@penstock/adapters/postgres/event-logs.ts'
import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { ExpectedRevision, NewEvent } from '@penstock/ports/event-store.ts'
import pg from 'pg'
import { TEST_EVENT_LOGS } from './stores.ts'

type ChildOrder = {
  url: string
  moment: 'before-commit' | 'after-commit' | 'none'
  append: [string, ExpectedRevision, NewEvent[]]
}

const { url, moment, append } = JSON.parse(String(process.argv[2])) as ChildOrder // from event-store.test.ts
const killSelf = (): void => void process.kill(process.pid, 'SIGKILL')

if (moment === 'before-commit') {
  // Runs the store's append statement in a transaction that never ends.
  const [stream, expected, events] = append
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('begin')
  await client.query(
    `select * from ${appendFunctionOf(TEST_EVENT_LOGS.get(categoryOf(stream)) ?? '')}($1, $2, $3, $4, $5, $6, $7)`,
    [
      [stream],
      [expected === 'none' ? 0 : expected + 1],
      events.map(() => 1),
      events.map(({ id }) => id),
      events.map(({ type }) => type),
      events.map(({ data }) => data),
      events.map(({ meta }) => meta),
    ],
  )
  killSelf()
}
const store = await postgresEventStore({ url, logs: TEST_EVENT_LOGS })
await store.append(...append)
if (moment === 'after-commit') killSelf()
await store.close()
