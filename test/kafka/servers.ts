import { randomBytes } from 'node:crypto'
import { kafkaBus, type KafkaBusOptions } from '@penstock/adapters/kafka/bus.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import { explainMissingKafka } from '@penstock/servers/kafka-install.ts'
import { type KafkaOptions, type KafkaServers, startKafka } from '@penstock/servers/kafka.ts'
import { inject } from 'vitest'
import { isSkipped } from '../support/skip.ts'
import { useServer } from '../support/use-server.ts'

/** The argument of `describe.skipIf` for suites that need Kafka. */
export const isKafkaMissing = isSkipped('Suites on a real Kafka are', await explainMissingKafka())

/** The addresses of running brokers. */
export type BrokerAddresses = Pick<KafkaServers, 'brokers'>

/** The broker that the test files share. A file uses topics and groups of its own, and changes nothing else. */
export const getSharedBroker = (): BrokerAddresses => ({ brokers: inject('kafkaBrokers') })

/** Starts brokers for the tests of one file that stop, pause or configure them. */
export const useOwnBrokers = (options: KafkaOptions = {}): (() => KafkaServers) =>
  useServer(() => startKafka(options), isKafkaMissing)

/** Kills the only broker, runs the function, and starts the broker again even if the function fails. */
export async function runWithoutBroker({ nodes: [broker] }: KafkaServers, meanwhile: () => Promise<void>): Promise<void> {
  if (!broker) throw new Error('the cluster has no broker')
  await broker.kill()
  try {
    await meanwhile()
  } finally {
    await broker.start()
  }
}

/** Creates a prefix for topics and groups that no other test uses. */
export const createPrefix = (): string => `t${randomBytes(4).toString('hex')}.`

/** Options for topics with few partitions. Sessions end quickly, so that a killed member is soon replaced. */
export const createBusOptions = (servers: BrokerAddresses, prefix: string): KafkaBusOptions => ({
  brokers: servers.brokers,
  clientId: 'test',
  prefix,
  partitions: 4,
  replicas: servers.brokers.length,
  retentionMs: 3_600_000,
  sessionTimeoutMs: 2000,
  retryMinMs: 2,
})

/** Opens a bus whose tables are in a file that other processes may open too. */
export async function openKafkaBus(options: KafkaBusOptions, file: string): Promise<{ bus: Bus; close: () => Promise<void> }> {
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
