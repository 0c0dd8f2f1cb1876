import { samplePeakMemory } from './peak-memory.ts'
import { createAgent, startSender } from './stored-deliveries.ts'

/** The measured process of `deliveries`: it sends the deliveries of a file, and then prints the most memory that it had (bytes). */
const [path = '', durationMs = '0'] = process.argv.slice(2)
const readPeak = samplePeakMemory()
const sender = await startSender(path, createAgent(), () => {})
await new Promise((resolve) => setTimeout(resolve, Number(durationMs)))
process.stdout.write(`${readPeak()}\n`)
await sender.close()
process.exit(0)
