import { kurrentDouble } from './server.ts'

/** The double as a process of its own, for a cluster whose processes share it. It ends with whoever has started it. */
const { url } = await kurrentDouble()
process.once('disconnect', () => process.exit(0))
process.send?.(url)
