/** A separate process of the contract suite. It appends events, and may kill itself before or after the commit. */
import type { ExpectedRevision, NewEvent } from '@penstock/ports/event-store.ts'
import { sqliteEventStore } from './event-store.ts'
import { openMarketLog } from './market-log.ts'

type WorkerArgument = {
  path: string
  moment: 'before-commit' | 'after-commit' | 'none'
  append: [string, ExpectedRevision, NewEvent[]]
}

const { path, moment, append } = JSON.parse(String(process.argv[2])) as WorkerArgument // from `event-store.test.ts`
const log = openMarketLog(path)
const store = sqliteEventStore(log)
const die = (): void => void process.kill(process.pid, 'SIGKILL')

// The listener runs after the commit, and before any caller gets the result.
if (moment === 'after-commit') log.onCommit(die)
const appended = store.append(...append)
// Work that is queued behind the append runs in the same transaction.
if (moment === 'before-commit') void log.write(die)
await appended
await store.close()
await log.close()
