import { createAgent, startSender } from './stored-deliveries.ts'

/** The measured process of `deliveries`: it sends the deliveries of a file, and then prints the memory that it has needed (bytes). */
const [path = '', durationMs = '0'] = process.argv.slice(2)

const sender = await startSender(path, createAgent(), () => {})
await new Promise((resolve) => setTimeout(resolve, Number(durationMs)))
process.stdout.write(`${process.resourceUsage().maxRSS * 1024}\n`)
await sender.close()
process.exit(0)
