#!/usr/bin/env node
import { keepCompiled } from '@penstock/platforms/compiled.ts'

keepCompiled()
// All services in one process on SQLite, with a simulated Lightning network: what `npm start` runs.
const { runStandalone } = await import('./process.ts')
await runStandalone(process.argv.slice(2), process.env)
