import { samplePeakMemory } from './peak-memory.ts'
import { measurePosts } from './signed-posts.ts'
import { createAgent, startSender } from './stored-deliveries.ts'

/**
 * Runs the idle sender of an empty file and, beside it, a loop of signed requests to the URLs. Then it prints the most memory
 * that the process had (bytes).
 */
const [path = '', count = '0', ...urls] = process.argv.slice(2)
const readPeak = samplePeakMemory()
const agent = createAgent()
const sender = await startSender(path, agent, () => {})
await measurePosts(agent, urls, Number(count))
process.stdout.write(`${readPeak()}\n`)
await sender.close()
process.exit(0)
