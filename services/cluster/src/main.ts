import { runCluster } from './run.ts'

// `npm run cluster` runs this file, which starts the whole market as separate processes on this machine.
await runCluster(process.argv.slice(2), process.env)
