/** A process of its own for the contract suite: publishes, handles some of it, and is killed at the moment it is told. */
import { appendFileSync } from 'node:fs'
import type { BusMessage, Handled } from '@penstock/ports/bus.ts'
import type { CrashMoment } from '@penstock/ports/bus.contract.ts'
import { sqliteBus } from './bus.ts'
import { openLog } from './log.ts'

type Order = { path: string; journal: string; moment: CrashMoment; topic: string; messages: BusMessage[] }

const { path, journal, moment, topic, messages } = JSON.parse(String(process.argv[2])) as Order // written by the suite beside it
const log = openLog(path)
const bus = sqliteBus(log)
const die = (): void => void process.kill(process.pid, 'SIGKILL')
const third = messages[2]?.id
/** Once the key is parked, whatever is committed next is the end. */
let parking = false

if (moment !== 'published')
  await bus.subscribe({
    group: 'readers',
    topic,
    handle: async ({ id }): Promise<Handled> => {
      if (id === third && moment === 'in-handler') die()
      if (id === third && moment === 'parked') {
        parking = true
        return { park: 'cannot be handled' }
      }
      // The suite learns from this file what was handled: it outlives the process.
      appendFileSync(journal, `${id}\n`)
      if (id === third) die()
      return 'done'
    },
  })
log.onCommit(() => {
  if (parking && log.db.prepare('select count(*) as count from parked_keys').get()?.['count'] === 1) die()
})
await bus.publish(topic, messages)
if (moment === 'published') die()
// Held open until a handler or the commit that parks the key kills it.
setInterval(() => {}, 1000)
