import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** A reference that is a process of its own, as the market is. */
export type Server = { readonly url: string; readonly close: () => Promise<void> }

/** @param script beside this file; it prints its port, and ends when its input does */
export async function startServer(script: string, ...args: readonly (string | number)[]): Promise<Server> {
  const child = spawn(process.execPath, [join(import.meta.dirname, script), ...args.map(String)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [port] = (await once(child.stdout, 'data')) as [Buffer] // what it prints first
  return {
    url: `http://127.0.0.1:${Number(String(port))}/`,
    async close() {
      child.stdin.end()
      await once(child, 'exit')
    },
  }
}
