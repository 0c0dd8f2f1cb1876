#!/usr/bin/env node
import { enableUserCompileCache } from '@penstock/runtime/compile-cache.ts'

enableUserCompileCache()
// `npm start` runs this file, which starts all services in one process on SQLite, with a simulated Lightning network.
const { runStandalone } = await import('./process.ts')
await runStandalone(process.argv.slice(2), process.env)
