#!/usr/bin/env node
import { enableUserCompileCache } from '@penstock/runtime/compile-cache.ts'

enableUserCompileCache()
// Only the user who runs the program may read the exports, reports and macaroons that it writes.
process.umask(0o077)
// A reader of the output may close the pipe early (`| head`), which is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})
const { runCli } = await import('./run-cli.ts')
process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
})
