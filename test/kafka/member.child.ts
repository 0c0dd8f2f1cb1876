/** A group member in a separate process, which tests stop, freeze and kill. It prints the id of each handled message. */
import { kafkaBus, type KafkaBusOptions } from '@penstock/adapters/kafka/bus.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'

type MemberOrder = { options: KafkaBusOptions; file: string; topic: string; workMs: number }

const { options, file, topic, workMs } = JSON.parse(String(process.argv[2])) as MemberOrder // written by the test that starts it
const bus = await kafkaBus(openViews(file), options)
await bus.subscribe({
  group: 'readers',
  topic,
  handle: async ({ id }) => {
    if (workMs > 0) await new Promise((resolve) => setTimeout(resolve, workMs))
    process.stdout.write(`${id}\n`)
    return 'done'
  },
})
process.once('SIGTERM', () => void bus.close().then(() => process.exit(0)))
