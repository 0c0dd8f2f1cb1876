import { runRegtest } from './regtest/run.ts'

// `npm run regtest` runs this file, which starts a local Lightning network of real nodes, with the market on it.
await runRegtest(process.argv.slice(2), process.env)
