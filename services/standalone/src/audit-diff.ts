import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { openStoreAt } from '@penstock/platforms/open-store.ts'
import { compareStates, type StateDiffReport, printStates } from '@penstock/audit/diff.ts'
import { createStreamServices } from './registry.ts'

/** The program, in every checkout, that prints the states that its code derives from a store. */
const STATES = 'services/standalone/src/audit-states.ts'

/** Folds every stream of a store with this code and with the code of another checkout. @throws Error if the other code fails */
export async function diffStore(path: string, checkout: string): Promise<StateDiffReport> {
  const program = join(resolve(checkout), STATES)
  if (!existsSync(program)) throw new Error(`${checkout} is no checkout of a version that can be compared: it has no ${STATES}.`)
  const store = await openStoreAt(path)
  const other = readStates(resolve(checkout), program, store.location)
  try {
    return await compareStates(printStates(store, createStreamServices()), other)
  } finally {
    await store.close()
  }
}

/** Runs the other version with its own Node and yields its lines. @throws Error with its last stderr output if it fails */
async function* readStates(checkout: string, program: string, place: string): AsyncGenerator<string> {
  const own = join(checkout, 'node_modules/.bin/node')
  const child = spawn(existsSync(own) ? own : process.execPath, [program, place], {
    cwd: checkout,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exit = once(child, 'close')
  let errorText = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errorText = (errorText + text).slice(-2000)))
  try {
    yield* createInterface({ input: child.stdout, crlfDelay: Infinity })
    const [code] = (await exit) as [number | null] // as node:child_process emits it
    if (code !== 0) throw new Error(`the version in ${checkout} failed: ${errorText.trim() || `exit code ${code}`}`)
  } finally {
    if (child.exitCode === null) child.kill('SIGKILL')
  }
}
