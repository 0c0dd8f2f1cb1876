import { runCluster } from './run.ts'

// The whole market as separate processes on this machine: what `npm run cluster` runs.
await runCluster(process.argv.slice(2), process.env)
