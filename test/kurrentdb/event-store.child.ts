/** A process of its own: appends what its argument says, and may kill itself at a moment of that. */
import { kurrentEventStore } from '@penstock/adapters/kurrentdb/event-store.ts'
import type { ExpectedRevision, NewEvent } from '@penstock/ports/event-store.ts'

type Order = { url: string; moment: 'before-commit' | 'after-commit' | 'none'; append: [string, ExpectedRevision, NewEvent[]] }

const { url, moment, append } = JSON.parse(String(process.argv[2])) as Order // written by the suite beside it
const die = (): void => void process.kill(process.pid, 'SIGKILL')

const store = kurrentEventStore({ url })
await store.read(append[0])
if (moment === 'before-commit') die()
await store.append(...append)
if (moment === 'after-commit') die()
await store.close()
