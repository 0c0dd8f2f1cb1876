import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { openAnywhere } from '@penstock/platforms/stored.ts'
import { compareStates, type DifferenceReport, stateLines } from '@penstock/runtime/audit-states.ts'
import { audited } from './services.ts'

/** The program of every checkout that prints what its code makes of a store. */
const STATES = 'services/standalone/src/audit-states.ts'

/** Folds every stream of a store with this code and with that of another checkout. @throws Error where the other cannot */
export async function diffStore(path: string, checkout: string): Promise<DifferenceReport> {
  const program = join(resolve(checkout), STATES)
  if (!existsSync(program)) throw new Error(`${checkout} is no checkout of a version that can be compared: it has no ${STATES}.`)
  const store = await openAnywhere(path)
  const other = printed(resolve(checkout), program, store.place)
  try {
    return await compareStates(stateLines(store, audited()), other)
  } finally {
    await store.close()
  }
}

/** What the other version prints, by its own Node. @throws Error with its last words where it fails */
async function* printed(checkout: string, program: string, place: string): AsyncGenerator<string> {
  const own = join(checkout, 'node_modules/.bin/node')
  const child = spawn(existsSync(own) ? own : process.execPath, [program, place], {
    cwd: checkout,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exit = once(child, 'close')
  let words = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (words = (words + text).slice(-2000)))
  try {
    yield* createInterface({ input: child.stdout, crlfDelay: Infinity })
    const [code] = (await exit) as [number | null] // as node:child_process emits it
    if (code !== 0) throw new Error(`the version in ${checkout} failed: ${words.trim() || `exit code ${code}`}`)
  } finally {
    if (child.exitCode === null) child.kill('SIGKILL')
  }
}
