#!/usr/bin/env node
import { runStandalone } from './process.ts'

// All services in one process on SQLite, with a simulated Lightning network: what `npm start` runs.
await runStandalone(process.argv.slice(2), process.env)
