#!/usr/bin/env node
import { enableCompileCache } from 'node:module'

// Scripts call this program hundreds of times: what Node has translated once, the next start finds.
enableCompileCache()
const { runCli } = await import('./run.ts')
process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
})
