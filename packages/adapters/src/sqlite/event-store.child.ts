/** A process of its own for the contract suite: appends what its first argument says, and may kill itself at a moment of that. */
import type { ExpectedRevision, NewEvent } from '@penstock/ports/event-store.ts'
import { sqliteEventStore } from './event-store.ts'
import { openLog } from './log.ts'

type Order = { path: string; moment: 'before-commit' | 'after-commit' | 'none'; append: [string, ExpectedRevision, NewEvent[]] }

const { path, moment, append } = JSON.parse(String(process.argv[2])) as Order // written by the suite beside it
const log = openLog(path)
const store = sqliteEventStore(log)
const die = (): void => void process.kill(process.pid, 'SIGKILL')

// The listener runs between the commit and anybody's knowledge of it.
if (moment === 'after-commit') log.onCommit(die)
const appended = store.append(...append)
// Work that is queued behind the append runs in the same transaction.
if (moment === 'before-commit') void log.write(die)
await appended
await store.close()
await log.close()
