import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { appendFile, chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type NodePlan, pemFile, propertiesOf } from './kafka-settings.ts'
import { killWithParent } from './parent.ts'

const run = promisify(execFile)
const READY = '] Kafka Server started'
const KEPT_CHARACTERS = 20_000

export type KafkaNode = {
  readonly id: number
  readonly address: string
  /** The door with TLS and a log-in, where it was asked for. */
  readonly secureAddress: string | undefined
  readonly logFile: string
  /** Undefined while it does not run. */
  readonly pid: number | undefined
  /** On the same port with the same data. It resolves when the broker serves requests. */
  start(): Promise<void>
  /** SIGTERM: a clean shutdown. */
  halt(): Promise<void>
  /** SIGKILL: what a crash leaves. */
  kill(): Promise<void>
}

export type Program = { readonly classPath: string; readonly clusterId: string; readonly heap: string }

/** One process that is broker and controller; it ends with this process, also by kill -9. */
export async function kafkaNode(program: Program, plan: NodePlan): Promise<KafkaNode> {
  await mkdir(plan.dir, { recursive: true })
  const properties = join(plan.dir, 'server.properties')
  const logFile = join(plan.dir, 'kafka.log')
  // It may name passwords.
  await writeFile(properties, propertiesOf(plan), { mode: 0o600 })
  await chmod(properties, 0o600)
  if (plan.secure) await writeFile(pemFile(plan.dir), plan.secure.pem, { mode: 0o600 })
  let child: ChildProcess | undefined

  async function start(): Promise<void> {
    if (child) throw new Error(`Kafka's node ${plan.id} runs already`)
    if (!existsSync(join(plan.dir, 'data', 'meta.properties'))) await format(program, plan, properties)
    const started = spawn('java', javaArguments(program, ['kafka.Kafka', properties]), {
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true, // a Ctrl-C for the terminal's processes is not for it: its users stop first
    })
    child = started
    killWithParent(started, 'KILL')
    const isGone = (): void => {
      if (child === started) child = undefined
    }
    started.once('exit', isGone)
    // What could not be started at all ends without an exit.
    started.once('error', () => started.pid === undefined && isGone())
    await isReady(started, plan.id, logFile)
  }
  async function end(signal: NodeJS.Signals): Promise<void> {
    if (!child) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }
  return {
    id: plan.id,
    address: `127.0.0.1:${plan.port}`,
    secureAddress: plan.secure && `127.0.0.1:${plan.securePort}`,
    logFile,
    get pid() {
      return child?.pid
    },
    start,
    halt: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  }
}

async function format(program: Program, plan: NodePlan, properties: string): Promise<void> {
  const scram = plan.secure?.scram
  const users = scram ? ['--add-scram', `SCRAM-SHA-512=[name=${scram.user},password=${scram.password}]`] : []
  const command = ['kafka.tools.StorageTool', 'format', `--cluster-id=${program.clusterId}`, '-c', properties, ...users]
  await run('java', javaArguments(program, command))
}

const javaArguments = ({ classPath, heap }: Program, args: readonly string[]): string[] => [
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-Xshare:auto',
  `-Xmx${heap}`,
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  '-Dorg.slf4j.simpleLogger.showDateTime=true',
  // Says when the server is ready.
  '-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info',
  '-cp',
  classPath,
  ...args,
]

/** @throws Error with its last words where it ends instead */
async function isReady(child: ChildProcess, id: number, logFile: string): Promise<void> {
  let said = ''
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => reject(new Error(`Kafka's node ${id} ended (${signal ?? code}):\n${said.slice(-4000)}`)))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      // A log that cannot be written must not stop the server: its folder may just be removed.
      appendFile(logFile, text).catch(() => {})
      said = (said + text).slice(-KEPT_CHARACTERS)
      if (said.includes(READY)) resolve()
    })
  })
}
