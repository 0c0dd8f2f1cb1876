import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants as system, setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ModelConfiguration, formatConfiguration } from './configuration.ts'
import { startProgram } from '../support/processes.ts'
import { readOutput, type TlcOutcome } from './tlc-output.ts'

const modelFolder = join(import.meta.dirname, '../../docs/model')
/** Every configuration needs less than a third of this time on two cores. */
const TIMEOUT_MS = 45 * 60_000
const HEAP_OPTION = '-Xmx3g'
/** A short run spends most of its time on the start of Java. The optimising compiler would cost more time than it saves. */
const SHORT_RUN = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
const LONG_RUN = ['-XX:+UseParallelGC', '-XX:ParallelGCThreads=1']

/** Checks one configuration on one core, at a low priority. */
export async function runTlcCheck(jar: string, configuration: ModelConfiguration, signal: AbortSignal): Promise<TlcOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-model-'))
  const startedAtMs = performance.now()
  try {
    const config = join(folder, 'model.cfg')
    writeFileSync(config, formatConfiguration(configuration))
    const mode = configuration.size === 'small' ? SHORT_RUN : LONG_RUN
    // TLC unpacks its standard modules into the temporary folder. With one folder per run, no run reads a half-written module.
    const java = [HEAP_OPTION, ...mode, `-Djava.io.tmpdir=${folder}`, '-cp', jar]
    const output = await spawnTlc(java, config, folder, signal)
    const seconds = Math.round((performance.now() - startedAtMs) / 1000)
    return { ...readOutput(output, configuration), seconds, output }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function spawnTlc(java: readonly string[], config: string, folder: string, signal: AbortSignal): Promise<string> {
  // With one worker, the counts are repeatable. `-deadlock` disables the deadlock check, because ended orders have no next step.
  const tlc = ['tlc2.TLC', '-deadlock', '-workers', '1', '-metadir', folder, '-config', config, 'Properties.tla']
  const options = { cwd: modelFolder, signal, timeout: TIMEOUT_MS, killSignal: 'SIGKILL' } as const
  const { child, output, ended } = startProgram('java', [...java, ...tlc], options)
  lowerPriority(child)
  const { stderr } = await ended
  return child.pid === undefined ? stderr : output()
}

function lowerPriority({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    setPriority(pid, system.priority.PRIORITY_LOW)
  } catch {
    // The process has ended already.
  }
}
