import { kafkaBus, type KafkaBusOptions } from '@penstock/adapters/kafka/bus.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import { kafkaMissing } from '@penstock/servers/kafka-install.ts'
import { type KafkaOptions, type KafkaServers, startKafka } from '@penstock/servers/kafka.ts'
import { afterAll, beforeAll } from 'vitest'

const missing = await kafkaMissing()
// Where everything is tested, a machine without Java or Maven is a mistake.
if (missing !== undefined && process.env['CI'] !== undefined) throw new Error(missing)
if (missing !== undefined) console.log(`Suites on a real Kafka are skipped. ${missing}`)

/** For `describe.skipIf`. */
export const noKafka = missing !== undefined

/** Brokers for the tests of one file. */
export function brokers(options: KafkaOptions = {}): () => KafkaServers {
  let servers: KafkaServers | undefined
  beforeAll(async () => {
    if (!noKafka) servers = await startKafka(options)
  })
  afterAll(() => servers?.stop())
  return () => {
    if (!servers) throw new Error('the brokers were not started')
    return servers
  }
}

/** The only broker is dead meanwhile. It is back for the next test, whatever becomes of this one. */
export async function withoutBroker({ nodes: [broker] }: KafkaServers, meanwhile: () => Promise<void>): Promise<void> {
  if (!broker) throw new Error('there is one')
  await broker.kill()
  try {
    await meanwhile()
  } finally {
    await broker.start()
  }
}

let worlds = 0
/** A name for topics and groups that nobody else uses. */
export const ownPrefix = (): string => `t${process.pid}-${++worlds}.`

/** Options for one small topic family; sessions end quickly, so that a killed member is soon replaced. */
export const busOptions = (servers: KafkaServers, prefix: string): KafkaBusOptions => ({
  brokers: servers.brokers,
  clientId: 'test',
  prefix,
  partitions: 4,
  replicas: servers.nodes.length,
  retentionMs: 3_600_000,
  sessionTimeoutMs: 2000,
  retryMinMs: 2,
})

/** A bus with its tables in a file that other processes may open too. */
export async function openBus(options: KafkaBusOptions, file: string): Promise<{ bus: Bus; close: () => Promise<void> }> {
  const views = openViews(file)
  const bus = await kafkaBus(views, options)
  return {
    bus,
    async close() {
      await bus.close()
      await views.close()
    },
  }
}
