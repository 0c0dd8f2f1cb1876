import { join } from 'node:path'
import { readProbe } from '../../test/support/process-probe.ts'

/** CPU of all threads since the process started (ms), and memory now (bytes). `heapUsed` is read after a garbage collection. */
export type ProcessUsage = { readonly cpuMs: number; readonly rss: number; readonly heapUsed: number }

export type UsageProbe = {
  /** Environment variables for the process to be measured. */
  readonly env: Readonly<Record<string, string>>
  readUsage(): Promise<ProcessUsage>
}

/** @param folder an existing folder, whose path is short enough for a Unix socket in it */
export function openUsageProbe(folder: string): UsageProbe {
  const socket = join(folder, 'probe')
  // A URL has no blanks, at which Node.js would divide NODE_OPTIONS.
  const script = new URL('./usage-probe.ts', import.meta.url).href
  return {
    env: { PENSTOCK_TEST_PROBE: socket, NODE_OPTIONS: `--import=${script}` },
    readUsage: () => readProbe(socket),
  }
}
