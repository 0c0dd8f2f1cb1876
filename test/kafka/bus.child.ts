/** A process of its own for the contract suite: publishes, handles some of it, and is killed at the moment it is told. */
import { appendFileSync } from 'node:fs'
import { kafkaBus, type KafkaBusOptions } from '@penstock/adapters/kafka/bus.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import type { CrashMoment } from '@penstock/ports/bus.contract.ts'
import type { BusMessage, Handled } from '@penstock/ports/bus.ts'

type Order = {
  options: KafkaBusOptions
  file: string
  journal: string
  moment: CrashMoment
  topic: string
  messages: BusMessage[]
}

const { options, file, journal, moment, topic, messages } = JSON.parse(String(process.argv[2])) as Order // written by the suite beside it
const bus = await kafkaBus(openViews(file), options)
const die = (): void => void process.kill(process.pid, 'SIGKILL')
const third = messages[2]?.id

if (moment !== 'published')
  await bus.subscribe({
    group: 'readers',
    topic,
    handle: async ({ id }): Promise<Handled> => {
      if (id === third && moment === 'in-handler') die()
      if (id === third && moment === 'parked') return { park: 'cannot be handled' }
      // The suite learns from this file what was handled: it outlives the process.
      appendFileSync(journal, `${id}\n`)
      if (id === third) die()
      return 'done'
    },
  })
await bus.publish(topic, messages)
if (moment === 'published') die()
// Held open until a handler kills it, or the key is parked.
for (;;) {
  if ((await bus.parked()).length === 1) die()
  await new Promise((resolve) => setTimeout(resolve, 1))
}
