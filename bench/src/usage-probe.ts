import { isMainThread } from 'node:worker_threads'
import { serveProbe } from '../../test/support/process-probe.ts'
import type { ProcessUsage } from './process-usage.ts'

/** Preloaded into a measured process (`node --import`). It serves the usage of the process on the socket PENSTOCK_TEST_PROBE. */
const socket = process.env['PENSTOCK_TEST_PROBE']
if (isMainThread && socket !== undefined)
  serveProbe(socket, ({ user, system }): ProcessUsage => {
    const { rss, heapUsed, external } = process.memoryUsage()
    return { cpuMs: (user + system) / 1000, rss, heapUsed: heapUsed + external }
  })
