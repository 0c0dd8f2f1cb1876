/** A separate process of the contract suite. It publishes, handles some messages, and kills itself at the given moment. */
import { appendFileSync } from 'node:fs'
import type { BusMessage, HandlerResult } from '@penstock/ports/bus.ts'
import type { CrashMoment } from '@penstock/ports/bus.contract.ts'
import { sqliteBus } from './bus.ts'
import { openMarketLog } from '../market-log.ts'

type WorkerArgument = { path: string; journal: string; moment: CrashMoment; topic: string; messages: BusMessage[] }

const { path, journal, moment, topic, messages } = JSON.parse(String(process.argv[2])) as WorkerArgument // from `bus.test.ts`
const log = openMarketLog(path)
const bus = sqliteBus(log)
const die = (): void => void process.kill(process.pid, 'SIGKILL')
const third = messages[2]?.id
/** True once the handler has parked the key. The commit that stores the parked key then kills the process. */
let isParking = false

if (moment !== 'published')
  await bus.subscribe({
    group: 'readers',
    topic,
    handle: async ({ id }): Promise<HandlerResult> => {
      if (id === third && moment === 'in-handler') die()
      if (id === third && moment === 'parked') {
        isParking = true
        return { park: 'cannot be handled' }
      }
      // The suite reads the handled ids from this file after the process has died.
      appendFileSync(journal, `${id}\n`)
      if (id === third) die()
      return 'done'
    },
  })
log.onCommit(() => {
  if (isParking && log.db.prepare('select count(*) as count from parked_keys').get()?.['count'] === 1) die()
})
await bus.publish(topic, messages)
if (moment === 'published') die()
// The interval keeps the process running until a handler or the commit of the parked key kills it.
setInterval(() => {}, 1000)
