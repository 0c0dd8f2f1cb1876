import { join } from 'node:path'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { startProgram } from '../../../test/support/processes.ts'

/** A reference server in a process of its own, like the market. */
export type ReferenceServer = { readonly url: string; readonly close: () => Promise<void> }

/** @param script a file in this folder; it prints its port, and ends when its stdin ends */
export async function startReferenceServer(script: string, ...args: readonly (string | number)[]): Promise<ReferenceServer> {
  const { child, output, ended } = startProgram(process.execPath, [join(import.meta.dirname, script), ...args.map(String)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const port = await waitUntil('the reference server prints its port', () => /^\d+\n/.exec(output())?.[0], 30_000, 5)
  return {
    url: `http://127.0.0.1:${Number(port)}/`,
    async close() {
      child.stdin?.end()
      await ended
    },
  }
}
