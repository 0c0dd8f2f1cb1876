import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, open, readFile, rm } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { killWithParent } from '@penstock/child-processes/kill-with-parent.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { installAptPackages } from '../../../tools/apt.ts'
import { listBridges, reserveAddressRange, removeBridges } from './address-range.ts'
import { runProgramSync, runSuccessfully, startProgram } from '../processes.ts'
import { CACHE_FOLDER } from '../cache-folder.ts'

const START_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 90_000

export type DockerEngine = {
  /** Environment variables for clients of the engine: docker, compose, testcontainers. */
  readonly env: Readonly<Record<string, string>>
  readonly folder: string
  /** Runs a `docker` command. @returns its standard output @throws Error with its error messages */
  docker(...args: readonly string[]): Promise<string>
  /** Stops the engine and all its containers. Images and volumes remain. */
  stop(): Promise<void>
}

/** Returns the folder of images, volumes and the engine's own files, which all runs on this machine share. */
const dockerFolder = (): string => join(CACHE_FOLDER, 'docker')

const hasProgram = (program: string): boolean => runProgramSync('sh', ['-c', `command -v ${program}`]).code === 0

/** Programs that the engine and the build of its base image need, with their Debian packages. */
const PACKAGES = { dockerd: 'docker.io', iptables: 'iptables', ip: 'iproute2', mmdebstrap: 'mmdebstrap' } as const
const listMissingPackages = (): readonly string[] =>
  Object.entries(PACKAGES).flatMap(([program, name]) => (hasProgram(program) ? [] : [name]))

/** @returns a sentence that says why no engine can start on this machine, or undefined if an engine can start */
export function findEngineSkipReason(): string | undefined {
  if (process.platform !== 'linux') return `The tests can start a Docker engine only on Linux, and this is ${process.platform}.`
  if (process.getuid?.() !== 0) return 'The tests can start a Docker engine only as root.'
  if (listMissingPackages().length > 0 && !hasProgram('apt-get'))
    return `A Docker engine needs ${listMissingPackages().join(', ')}, and apt-get is missing.`
  return undefined
}

/** Installs the missing packages by apt-get. */
export async function installEngine(): Promise<void> {
  const packages = listMissingPackages()
  if (packages.length === 0) return
  console.log(`Installing ${packages.join(', ')} for tests with containers (once, by apt-get) ...`)
  const problem = await installAptPackages(...packages)
  if (problem !== undefined) throw new Error(`apt-get could not install ${packages.join(', ')}: ${problem}`)
}

/** Starts an engine, which ends when this process ends, even after SIGKILL. Only one engine at a time uses the folder. */
export async function startEngine(folder = dockerFolder()): Promise<DockerEngine> {
  const [socket, log] = [join(folder, 'sock'), join(folder, 'log')]
  for (const name of ['data', 'exec', 'client']) await mkdir(join(folder, name), { recursive: true })
  const range = await reserveAddressRange()
  const logFile = await open(log, 'w')
  // `flock` waits until the engine of another run has released the lock. With `--no-fork`, dockerd gets the same process id.
  const program = ['--wait', '900', '--no-fork', join(folder, 'lock'), 'dockerd', ...argumentsOf(folder, range)]
  const { child } = startProgram('flock', program, { stdio: ['ignore', logFile.fd, logFile.fd], detached: true })
  killWithParent(child, 'TERM')
  await logFile.close()
  const env = {
    DOCKER_HOST: `unix://${socket}`,
    DOCKER_CONFIG: join(folder, 'client'),
    // Debian's engine has no buildx.
    DOCKER_BUILDKIT: '0',
    // The cleaner of testcontainers (Ryuk) would need another image.
    TESTCONTAINERS_RYUK_DISABLED: 'true',
    // If the tests run in a container, testcontainers would choose another host.
    TESTCONTAINERS_HOST_OVERRIDE: '127.0.0.1',
  }
  const docker = async (...args: readonly string[]): Promise<string> =>
    (await runSuccessfully('docker', args, { env: { ...process.env, ...env } })).stdout.trimEnd()
  try {
    await waitUntilUp(child, docker, log)
  } catch (error) {
    await stopEngine(child, folder, range)
    throw error
  }
  return { env, folder, docker, stop: () => stopEngine(child, folder, range) }
}

/** Returns the arguments of dockerd. There is no default bridge, because two engines would share it. */
const argumentsOf = (folder: string, range: string): readonly string[] => [
  `--host=unix://${join(folder, 'sock')}`,
  `--pidfile=${join(folder, 'pid')}`,
  `--data-root=${join(folder, 'data')}`,
  `--exec-root=${join(folder, 'exec')}`,
  '--bridge=none',
  `--default-address-pool=base=${range},size=24`,
  '--ip=127.0.0.1',
  '--log-level=warn',
  '--log-driver=json-file',
  '--log-opt=max-size=10m',
  '--shutdown-timeout=30',
]

async function waitUntilUp(child: ChildProcess, docker: DockerEngine['docker'], log: string): Promise<void> {
  const isUp = async (): Promise<boolean> => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('the engine has exited')
    return docker('version', '--format', '{{.Server.Version}}').then(
      () => true,
      () => false,
    )
  }
  await waitUntil('the answer of the engine', isUp, START_TIMEOUT_MS, 100).catch(async (error: unknown) => {
    const text = existsSync(log) ? await readFile(log, 'utf8') : ''
    throw new Error(`The Docker engine did not start (${String(error)}):\n${text.split('\n').slice(-20).join('\n')}`)
  })
}

async function stopEngine(child: ChildProcess, folder: string, range: string): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const exit = once(child, 'exit', { signal: AbortSignal.timeout(STOP_TIMEOUT_MS) })
    child.kill('SIGTERM')
    await exit.catch(() => child.kill('SIGKILL'))
  }
  await removeBridges(range, await listBridges(range))
  // After its exit, dockerd leaves network namespaces mounted.
  await runSuccessfully('sh', ['-c', `for mount in "$0"/exec/netns/*; do umount "$mount" 2>/dev/null || true; done`, folder])
  await rm(join(folder, 'sock'), { force: true })
}
