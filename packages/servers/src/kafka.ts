import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installKafka } from './kafka-install.ts'
import { StartTimeoutError, type KafkaNode, createKafkaNode } from './kafka-node.ts'
import type { KafkaLogins, SecureListener } from './kafka-settings.ts'
import { readOrCreate, readOrReservePorts } from './read-or-create.ts'

export type KafkaOptions = {
  /** The number of processes, each of which is broker and controller. */
  readonly nodes?: 1 | 3
  /** The folder of the data and the ports. By default it is a temporary folder, which `stop` removes. */
  readonly dir?: string
  readonly heap?: string
  /** The timeout of a node's first start. After each timeout the next start gets twice the time. */
  readonly readyWithinMs?: number
  /** Adds a listener with TLS and a log-in to the plain listener. */
  readonly secure?: SecureListener
  /** Requires a log-in for every connection, and allows only granted operations. */
  readonly logins?: KafkaLogins
  /** Additional lines of server.properties, which override our own lines. */
  readonly settings?: Readonly<Record<string, string | number>>
  /** Aborts a start, and stops the nodes that have started. */
  readonly signal?: AbortSignal
}

export type KafkaServers = {
  readonly brokers: readonly string[]
  readonly secureBrokers: readonly string[]
  readonly nodes: readonly KafkaNode[]
  /** Stops all nodes permanently. The data stay if `dir` was given. */
  stop(): Promise<void>
}

const PORTS_PER_NODE = 3
const MAX_STARTS = 3

/** Starts a real Apache Kafka (KRaft) as child processes on loopback. They end with this process, even by kill -9. */
export async function startKafka(options: KafkaOptions = {}): Promise<KafkaServers> {
  const classPath = await installKafka()
  const folder = options.dir ?? (await mkdtemp(join(tmpdir(), 'penstock-kafka-')))
  const nodes = await createNodes(classPath, folder, options)
  const stop = async (): Promise<void> => {
    // A clean stop of three nodes takes 5 s: the last node waits for its lost quorum. Temporary data need no clean stop.
    await Promise.all(nodes.map((node) => (options.dir === undefined ? node.kill() : node.shutDown())))
    if (options.dir === undefined) await rm(folder, { recursive: true, force: true })
  }
  try {
    await Promise.all(nodes.map((node) => startWithRetries(node, options.signal)))
  } catch (error) {
    await stop()
    throw error
  }
  return {
    brokers: nodes.map(({ address }) => address),
    secureBrokers: nodes.flatMap(({ secureAddress }) => secureAddress ?? []),
    nodes,
    stop,
  }
}

async function startWithRetries(node: KafkaNode, signal?: AbortSignal): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await node.start(signal)
    } catch (error) {
      if (!(error instanceof StartTimeoutError) || tries === MAX_STARTS) throw error
    }
  }
}

async function createNodes(classPath: string, folder: string, options: KafkaOptions): Promise<readonly KafkaNode[]> {
  const { nodes: count = 1, heap = '256m', readyWithinMs, secure, logins, settings = {} } = options
  const clusterId = await readOrCreate(join(folder, 'cluster-id'), async () => randomBytes(16).toString('base64url'))
  const ports = await readOrReservePorts(folder, count * PORTS_PER_NODE)
  const plans = Array.from({ length: count }, (_, index) => {
    const [port = 0, securePort = 0, controllerPort = 0] = ports.slice(index * PORTS_PER_NODE)
    const dir = join(folder, `node-${index + 1}`)
    return { id: index + 1, dir, port, securePort, controllerPort, count, secure, logins, settings }
  })
  const voters = plans.map(({ id, controllerPort }) => `${id}@127.0.0.1:${controllerPort}`).join(',')
  return Promise.all(plans.map((plan) => createKafkaNode({ classPath, clusterId, heap }, { ...plan, voters }, readyWithinMs)))
}
