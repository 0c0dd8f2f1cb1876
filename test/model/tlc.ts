import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants as system, setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Configuration, configText } from './configuration.ts'

/** What TLC found: `holds`, the violated property, or `error` where it did not come to an end. */
export type Outcome = {
  readonly result: string
  /** States that were generated, distinct ones, and the depth of the search; undefined where TLC names none. */
  readonly generated?: number
  readonly distinct?: number
  readonly depth?: number
  readonly seconds: number
  /** All that TLC printed: a violation has its trace there. */
  readonly output: string
}

const modelFolder = join(import.meta.dirname, '../../docs/model')
/** No configuration takes a third of it on two cores. */
const LIMIT_MS = 45 * 60_000
const HEAP = '-Xmx3g'
/** Most of a short run is the start of Java, and its best compiler does not pay for itself then. */
const SHORT_RUN = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
const LONG_RUN = ['-XX:+UseParallelGC', '-XX:ParallelGCThreads=1']

/** Runs one configuration on one core, behind whatever else the machine does. */
export async function check(jar: string, configuration: Configuration, signal: AbortSignal): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-model-'))
  const startedAtMs = performance.now()
  try {
    const config = join(folder, 'model.cfg')
    writeFileSync(config, configText(configuration))
    const mode = configuration.size === 'small' ? SHORT_RUN : LONG_RUN
    // TLC unpacks its standard modules into the temporary folder, where runs side by side would read halves of them.
    const java = [HEAP, ...mode, `-Djava.io.tmpdir=${folder}`, '-cp', jar]
    const output = await runTlc(java, config, folder, signal)
    const seconds = Math.round((performance.now() - startedAtMs) / 1000)
    return { ...readOutput(output, configuration), seconds, output }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function runTlc(java: readonly string[], config: string, folder: string, signal: AbortSignal): Promise<string> {
  // One worker counts the same states each time. An order that has ended is no deadlock.
  const tlc = ['tlc2.TLC', '-deadlock', '-workers', '1', '-metadir', folder, '-config', config, 'Properties.tla']
  const child = spawn('java', [...java, ...tlc], {
    cwd: modelFolder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  lowerPriority(child)
  const stop = () => child.kill('SIGKILL')
  const limit = setTimeout(stop, LIMIT_MS)
  signal.addEventListener('abort', stop, { once: true })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(limit)
      signal.removeEventListener('abort', stop)
      resolve(output)
    }
    child.once('error', (error) => {
      output += error.message
      end()
    })
    child.once('close', end)
  })
}

function lowerPriority({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    setPriority(pid, system.priority.PRIORITY_LOW)
  } catch {
    // It has ended already.
  }
}

/** Reads TLC's report. TLC names no property of liveness, so a configuration that may violate one has only that one. */
export function readOutput(
  output: string,
  { properties }: Pick<Configuration, 'properties'>,
): Omit<Outcome, 'seconds' | 'output'> {
  const [, generated, distinct] =
    [...output.matchAll(/([\d,]+) states generated.*?, ([\d,]+) distinct states found/g)].at(-1) ?? []
  const depth = /depth of the complete state graph search is (\d+)/.exec(output)?.[1]
  const numbers = {
    ...(generated !== undefined && { generated: numberOf(generated) }),
    ...(distinct !== undefined && { distinct: numberOf(distinct) }),
    ...(depth !== undefined && { depth: numberOf(depth) }),
  }
  const named = /Error: (?:Invariant|Action property|Property) (\w+) is violated/.exec(output)?.[1]
  if (named !== undefined) return { result: named, ...numbers }
  if (output.includes('Temporal properties were violated')) return { result: properties.join(', '), ...numbers }
  // Both lines are there only where the search came to its end and met no error.
  const isWhole = output.includes('Model checking completed. No error has been found.') && depth !== undefined
  return { result: isWhole ? 'holds' : 'error', ...numbers }
}

const numberOf = (text: string): number => Number(text.replaceAll(',', ''))
