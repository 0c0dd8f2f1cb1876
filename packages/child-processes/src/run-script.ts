import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/**
 * Runs a script with one JSON argument and waits for its end. Contract suites use it.
 * @throws Error with the script's output if it does not end by `signal` (null: with exit code 0)
 */
export async function runWorkerProcess(script: URL, argument: object, signal: NodeJS.Signals | null): Promise<void> {
  const worker = spawn(process.execPath, [fileURLToPath(script), JSON.stringify(argument)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  worker.stderr.on('data', (text) => (output += String(text)))
  const [code, killedBy] = (await once(worker, 'close')) as [number | null, NodeJS.Signals | null] // As Node documents 'close'
  if (killedBy !== signal || (signal === null && code !== 0))
    throw new Error(`the child ended with ${killedBy ?? code}: ${output}`)
}
