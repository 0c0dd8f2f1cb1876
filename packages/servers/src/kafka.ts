import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installKafka } from './kafka-install.ts'
import { type KafkaNode, kafkaNode } from './kafka-node.ts'
import type { Logins, SecureDoor } from './kafka-settings.ts'
import { kept, keptPorts } from './kept.ts'

export type KafkaOptions = {
  /** Processes that are broker and controller at once. */
  readonly nodes?: 1 | 3
  /** Keeps the data and the ports; otherwise a temporary folder that `stop` removes. */
  readonly dir?: string
  readonly heap?: string
  /** Opens a door with TLS and a log-in beside the plain one. */
  readonly secure?: SecureDoor
  /** Lets nobody in without a log-in, and nobody do what was not granted. */
  readonly logins?: Logins
  /** Lines of server.properties beside ours; they win. */
  readonly settings?: Readonly<Record<string, string | number>>
}

export type KafkaServers = {
  readonly brokers: readonly string[]
  readonly secureBrokers: readonly string[]
  readonly nodes: readonly KafkaNode[]
  /** Ends all for good; the data stay where `dir` was given. */
  stop(): Promise<void>
}

const PORTS_PER_NODE = 3

/** A real Apache Kafka (KRaft) as child processes of this one, on loopback; they end with it, also by kill -9. */
export async function startKafka(options: KafkaOptions = {}): Promise<KafkaServers> {
  const classPath = await installKafka()
  const folder = options.dir ?? (await mkdtemp(join(tmpdir(), 'penstock-kafka-')))
  const nodes = await plannedNodes(classPath, folder, options)
  const stop = async (): Promise<void> => {
    // Three at once need 5 s for a clean stop, since the last one waits for its lost quorum: not for data that is thrown away.
    await Promise.all(nodes.map((node) => (options.dir === undefined ? node.kill() : node.halt())))
    if (options.dir === undefined) await rm(folder, { recursive: true, force: true })
  }
  try {
    await Promise.all(nodes.map((node) => node.start()))
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

async function plannedNodes(classPath: string, folder: string, options: KafkaOptions): Promise<readonly KafkaNode[]> {
  const { nodes: count = 1, heap = '256m', secure, logins, settings = {} } = options
  const clusterId = await kept(join(folder, 'cluster-id'), async () => randomBytes(16).toString('base64url'))
  const ports = await keptPorts(folder, count * PORTS_PER_NODE)
  const plans = Array.from({ length: count }, (_, index) => {
    const [port = 0, securePort = 0, controllerPort = 0] = ports.slice(index * PORTS_PER_NODE)
    const dir = join(folder, `node-${index + 1}`)
    return { id: index + 1, dir, port, securePort, controllerPort, count, secure, logins, settings }
  })
  const voters = plans.map(({ id, controllerPort }) => `${id}@127.0.0.1:${controllerPort}`).join(',')
  return Promise.all(plans.map((plan) => kafkaNode({ classPath, clusterId, heap }, { ...plan, voters })))
}
