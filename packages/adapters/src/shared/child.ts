import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/**
 * For contract suites: runs a script with one JSON argument and waits for its end.
 * @throws Error where it ends otherwise than by `signal` (null: in peace), with what it wrote
 */
export async function runChild(script: URL, order: object, signal: NodeJS.Signals | null): Promise<void> {
  const child = spawn(process.execPath, [fileURLToPath(script), JSON.stringify(order)], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.on('data', (text) => (said += String(text)))
  const [code, killedBy] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null] // as Node documents 'close'
  if (killedBy !== signal || (signal === null && code !== 0)) throw new Error(`the child ended with ${killedBy ?? code}: ${said}`)
}
