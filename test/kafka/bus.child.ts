/** The child process of the contract suite. It publishes and handles messages, and kills itself at the moment of its argument. */
import { appendFileSync } from 'node:fs'
import { kafkaBus, type KafkaBusOptions } from '@penstock/adapters/kafka/bus.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import type { CrashMoment } from '@penstock/ports/bus.contract.ts'
import type { BusMessage, HandlerResult } from '@penstock/ports/bus.ts'

type ChildOrder = {
  options: KafkaBusOptions
  file: string
  journal: string
  moment: CrashMoment
  topic: string
  messages: BusMessage[]
}

const { options, file, journal, moment, topic, messages } = JSON.parse(String(process.argv[2])) as ChildOrder // from bus.test.ts
const bus = await kafkaBus(openViews(file), options)
const killSelf = (): void => void process.kill(process.pid, 'SIGKILL')
const third = messages[2]?.id

if (moment !== 'published')
  await bus.subscribe({
    group: 'readers',
    topic,
    handle: async ({ id }): Promise<HandlerResult> => {
      if (id === third && moment === 'in-handler') killSelf()
      if (id === third && moment === 'parked') return { park: 'cannot be handled' }
      // The suite reads the handled messages from this file, which outlives the process.
      appendFileSync(journal, `${id}\n`)
      if (id === third) killSelf()
      return 'done'
    },
  })
await bus.publish(topic, messages)
if (moment === 'published') killSelf()
// The process runs until a handler kills it. It kills itself when the key is parked.
for (;;) {
  if ((await bus.parked()).length === 1) killSelf()
  await new Promise((resolve) => setTimeout(resolve, 1))
}
