/** A process of its own: appends what its argument says, and may kill itself at a moment of that. */
import { appendOf } from '@penstock/adapters/postgres/event-logs.ts'
import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { categoryOf, type ExpectedRevision, type NewEvent } from '@penstock/ports/event-store.ts'
import pg from 'pg'
import { logs } from './stores.ts'

type Order = { url: string; moment: 'before-commit' | 'after-commit' | 'none'; append: [string, ExpectedRevision, NewEvent[]] }

const { url, moment, append } = JSON.parse(String(process.argv[2])) as Order // written by the suite beside it
const die = (): void => void process.kill(process.pid, 'SIGKILL')

if (moment === 'before-commit') {
  // What the store does in one statement, in a transaction that never ends.
  const [stream, expected, events] = append
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('begin')
  await client.query(`select * from ${appendOf(logs.get(categoryOf(stream)) ?? '')}($1, $2, $3, $4, $5, $6, $7)`, [
    [stream],
    [expected === 'none' ? 0 : expected + 1],
    events.map(() => 1),
    events.map(({ id }) => id),
    events.map(({ type }) => type),
    events.map(({ data }) => data),
    events.map(({ meta }) => meta),
  ])
  die()
}
const store = await postgresEventStore({ url, logs })
await store.append(...append)
if (moment === 'after-commit') die()
await store.close()
