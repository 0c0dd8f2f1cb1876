import { runRegtest } from './regtest/run.ts'

// A real Lightning network of our own with the market on it: what `npm run regtest` runs.
await runRegtest(process.argv.slice(2), process.env)
