/** The child process of the contract suite. It appends the events of its argument, and may kill itself before or after. */
import { kurrentEventStore } from '@penstock/adapters/kurrentdb/event-store.ts'
import type { ExpectedRevision, NewEvent } from '@penstock/ports/event-store.ts'

type ChildOrder = {
  url: string
  moment: 'before-commit' | 'after-commit' | 'none'
  append: [string, ExpectedRevision, NewEvent[]]
}

const { url, moment, append } = JSON.parse(String(process.argv[2])) as ChildOrder // written by store-fixture.ts
const killSelf = (): void => void process.kill(process.pid, 'SIGKILL')

const store = kurrentEventStore({ url })
await store.read(append[0])
if (moment === 'before-commit') killSelf()
await store.append(...append)
if (moment === 'after-commit') killSelf()
await store.close()
