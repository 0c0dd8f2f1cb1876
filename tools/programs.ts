import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { startProgram } from '../test/support/processes.ts'

/** Programs that tests need in addition to Node.js and the packages. `test/support/install-program.ts` installs them. */
export const programNames = [
  'chromium',
  'promtool',
  'schemathesis',
  'tlc',
  'kafka',
  'compose',
  'containers',
  'kubernetes',
  'lightning',
] as const

export type ProgramName = (typeof programNames)[number]

const installer = join(import.meta.dirname, '../test/support/install-program.ts')

/**
 * Installs programs in the given order at low priority, because Go builds use all cores. Each promise resolves when its
 * program is installed or its installation has failed. After a failure, its tests are skipped.
 * @param log receives the output of the installations, and their failures
 */
export function installPrograms(
  names: readonly ProgramName[],
  log: (line: string) => void,
  signal: AbortSignal,
): ReadonlyMap<ProgramName, Promise<void>> {
  let last = Promise.resolve()
  return new Map(
    [...new Set(names)].map((name) => {
      last = last.then(() => (signal.aborted ? undefined : install(name, log, signal)))
      return [name, last]
    }),
  )
}

async function install(name: ProgramName, log: (line: string) => void, signal: AbortSignal): Promise<void> {
  const { child, ended } = startProgram(process.execPath, [installer, name], { signal })
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW)
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (text: string) => {
      for (const line of text.trimEnd().split('\n')) if (line !== '') log(line)
    })
  const { code, signal: signalName, stderr } = await ended
  if (code === 0 || signal.aborted) return
  log(`${name} could not be installed (${child.pid === undefined ? stderr : `exit ${signalName ?? code}`}).`)
}
