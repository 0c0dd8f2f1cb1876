import { createAgent, startSender } from './stored-deliveries.ts'

/** The measured process of `deliveries`: it sends the deliveries of a file, and then prints the most memory that it had (bytes). */
const [path = '', durationMs = '0'] = process.argv.slice(2)
const SAMPLE_EVERY_MS = 20

// The maximum that the system reports begins with the memory of the parent.
let most = 0
setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), SAMPLE_EVERY_MS)
const sender = await startSender(path, createAgent(), () => {})
await new Promise((resolve) => setTimeout(resolve, Number(durationMs)))
process.stdout.write(`${most}\n`)
await sender.close()
process.exit(0)
