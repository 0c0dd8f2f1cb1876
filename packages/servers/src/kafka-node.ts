import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stopProcess } from '@penstock/child-processes/stop.ts'
import { type NodePlan, pemPath, renderProperties } from './kafka-settings.ts'
import { killWithParent } from '@penstock/child-processes/kill-with-parent.ts'

const run = promisify(execFile)
const READY = '] Kafka Server started'
const OUTPUT_LIMIT = 20_000
/** A broker serves within seconds. A broker that gets SIGTERM during its start may hang for ever (Kafka 4.3.1). */
const READY_WITHIN_MS = 60_000
const FORMATTED_WITHIN_MS = 120_000

/** The broker was killed after the timeout; another start may succeed. */
export class StartTimeoutError extends Error {
  override readonly name = 'StartTimeoutError'
}

export type KafkaNode = {
  readonly id: number
  readonly address: string
  /** Address of the listener with TLS and a log-in, if one was requested. */
  readonly secureAddress: string | undefined
  readonly logFile: string
  /** Undefined while the broker does not run. */
  readonly pid: number | undefined
  /**
   * Starts on the same port with the same data. It resolves when the broker serves requests.
   * @param signal aborts the start
   * @throws StartTimeoutError if the broker does not serve in time
   */
  start(signal?: AbortSignal): Promise<void>
  /** SIGTERM for a clean shutdown, then SIGKILL if the broker does not stop in time. */
  shutDown(): Promise<void>
  /** SIGKILL: leaves the data as after a crash. */
  kill(): Promise<void>
}

export type KafkaProgram = { readonly classPath: string; readonly clusterId: string; readonly heap: string }

/** Creates one process that is broker and controller. It ends with this process, even by kill -9. */
export async function createKafkaNode(
  program: KafkaProgram,
  plan: NodePlan,
  readyWithinMs = READY_WITHIN_MS,
): Promise<KafkaNode> {
  await mkdir(plan.dir, { recursive: true })
  const properties = join(plan.dir, 'server.properties')
  const logFile = join(plan.dir, 'kafka.log')
  // The file may contain passwords.
  await writeFile(properties, renderProperties(plan), { mode: 0o600 })
  await chmod(properties, 0o600)
  if (plan.secure) await writeFile(pemPath(plan.dir), plan.secure.pem, { mode: 0o600 })
  let child: ChildProcess | undefined
  let withinMs = readyWithinMs

  async function start(signal?: AbortSignal): Promise<void> {
    if (child) throw new Error(`Kafka's node ${plan.id} runs already`)
    if (!existsSync(join(plan.dir, 'data', 'meta.properties'))) await format(program, plan, properties)
    signal?.throwIfAborted()
    const started = spawn('java', javaArguments(program, ['kafka.Kafka', properties]), {
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true, // A Ctrl-C in the terminal must not reach the broker, because its clients stop first.
    })
    child = started
    killWithParent(started, 'KILL')
    const onExit = (): void => {
      if (child === started) child = undefined
    }
    started.once('exit', onExit)
    // A process that could not be spawned emits no exit event.
    started.once('error', () => started.pid === undefined && onExit())
    let isLate = false
    const killTimer = setTimeout(() => (isLate = started.kill('SIGKILL')), withinMs)
    const kill = (): void => void started.kill('SIGKILL')
    signal?.addEventListener('abort', kill, { once: true })
    try {
      await waitUntilReady(started, plan.id, logFile)
      withinMs = readyWithinMs
    } catch (error) {
      if (!isLate) throw error
      const seconds = withinMs / 1000
      // On a slow machine each further start gets twice the time.
      withinMs *= 2
      throw new StartTimeoutError(`Kafka's node ${plan.id} did not serve within ${seconds} s of its start and is killed`)
    } finally {
      clearTimeout(killTimer)
      signal?.removeEventListener('abort', kill)
    }
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => child && stopProcess(child, signal)
  return {
    id: plan.id,
    address: `127.0.0.1:${plan.port}`,
    secureAddress: plan.secure && `127.0.0.1:${plan.securePort}`,
    logFile,
    get pid() {
      return child?.pid
    },
    start,
    shutDown: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  }
}

async function format(program: KafkaProgram, plan: NodePlan, properties: string): Promise<void> {
  const scram = plan.secure?.scram
  const users = scram ? ['--add-scram', `SCRAM-SHA-512=[name=${scram.user},password=${scram.password}]`] : []
  const command = ['kafka.tools.StorageTool', 'format', `--cluster-id=${program.clusterId}`, '-c', properties, ...users]
  await run('java', javaArguments(program, command), { timeout: FORMATTED_WITHIN_MS, killSignal: 'SIGKILL' })
}

const javaArguments = ({ classPath, heap }: KafkaProgram, args: readonly string[]): string[] => [
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-Xshare:auto',
  `-Xmx${heap}`,
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  '-Dorg.slf4j.simpleLogger.showDateTime=true',
  // This logger reports when the server is ready.
  '-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info',
  '-cp',
  classPath,
  ...args,
]

/** @throws Error with the end of the broker's output if it exits before it is ready */
async function waitUntilReady(child: ChildProcess, id: number, logFile: string): Promise<void> {
  let output = ''
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) =>
      reject(new Error(`Kafka's node ${id} ended (${signal ?? code}):\n${output.slice(-4000)}`)),
    )
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      // A log that cannot be written must not stop the server, because its folder may have been removed.
      appendFile(logFile, text).catch(() => {})
      output = (output + text).slice(-OUTPUT_LIMIT)
      if (output.includes(READY)) resolve()
    })
  })
}
