import { spawn } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'

/** What suites need beside Node.js and the packages; `test/harness/install-program.ts` knows how each is had. */
export const programNames = ['chromium', 'promtool', 'tlc', 'kafka', 'compose', 'kubernetes', 'lightning'] as const

export type ProgramName = (typeof programNames)[number]

const installer = join(import.meta.dirname, '../test/harness/install-program.ts')

/**
 * Gets programs one after the other, behind everything else that runs on the machine: the builds of Go take all cores.
 * Each promise resolves when its program is there or cannot be had: the suite itself skips then, and says why.
 * @param tell gets a line where something takes its time or fails
 */
export function installPrograms(
  names: readonly ProgramName[],
  tell: (line: string) => void,
  signal: AbortSignal,
): ReadonlyMap<ProgramName, Promise<void>> {
  let last = Promise.resolve()
  return new Map(
    programNames
      .filter((name) => names.includes(name))
      .map((name) => {
        last = last.then(() => (signal.aborted ? undefined : install(name, tell, signal)))
        return [name, last]
      }),
  )
}

function install(name: ProgramName, tell: (line: string) => void, signal: AbortSignal): Promise<void> {
  const child = spawn(process.execPath, [installer, name], { stdio: ['ignore', 'pipe', 'pipe'] })
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW)
  const stop = () => child.kill()
  signal.addEventListener('abort', stop, { once: true })
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.trimEnd().split('\n')) if (line !== '') tell(line)
    })
  }
  return new Promise((resolve) => {
    const end = (fault?: string): void => {
      signal.removeEventListener('abort', stop)
      if (fault !== undefined && !signal.aborted) tell(`${name} could not be installed (${fault}).`)
      resolve()
    }
    child.once('error', (error) => end(error.message))
    child.once('close', (code, by) => end(code === 0 ? undefined : `exit ${by ?? code}`))
  })
}
