#!/usr/bin/env node
import { keepCompiled } from '@penstock/platforms/compiled.ts'

keepCompiled()
// Exports, reports and macaroons that it writes are for whoever runs it.
process.umask(0o077)
// Whoever reads the output may have seen enough (`| head`): the rest is for nobody, and no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})
const { runCli } = await import('./run.ts')
process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
})
