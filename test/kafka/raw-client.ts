import type { Kafka } from 'kafkajs'

/** Sends single protocol requests, as an attacker's own client could send them, each for one topic or group. */
export type RawKafkaClient = {
  /** Fetches one partition from its start. @returns 'yes', or the broker's error type */
  fetch(topic: string): Promise<string>
  join(group: string): Promise<string>
  /** Commits an offset of a group. */
  commit(group: string, topic: string): Promise<string>
  beginTransaction(transactionalId: string): Promise<string>
  close(): Promise<void>
}

type Broker = {
  fetch(request: object): Promise<unknown>
  joinGroup(request: object): Promise<unknown>
  offsetCommit(request: object): Promise<unknown>
  initProducerId(request: object): Promise<unknown>
}
/** The cluster object that kafkajs passes to a partition assigner. kafkajs has no types for its methods. */
type Cluster = { refreshMetadata(): Promise<void>; findControllerBroker(): Promise<Broker> }

/** @param kafka a client of a cluster with one broker, which therefore leads every partition */
export async function createRawClient(kafka: Kafka): Promise<RawKafkaClient> {
  let cluster: Cluster | undefined
  const consumer = kafka.consumer({
    groupId: 'unused',
    partitionAssigners: [
      (parts) => {
        cluster = parts.cluster as unknown as Cluster
        return { name: 'none', version: 0, assign: () => Promise.resolve([]), protocol: () => PROTOCOL }
      },
    ],
  })
  await consumer.connect()
  await cluster?.refreshMetadata()
  const broker = await cluster?.findControllerBroker()
  if (!broker) throw new Error('no broker answers')
  const range = [{ partition: 0, fetchOffset: 0, currentLeaderEpoch: -1, maxBytes: 1_000_000 }]
  return {
    fetch: (topic) =>
      readRefusal(
        broker.fetch({
          replicaId: -1,
          isolationLevel: 0,
          maxWaitTime: 1,
          topics: [{ topic, partitions: range }],
        }),
      ),
    join: (groupId) =>
      readRefusal(broker.joinGroup({ groupId, sessionTimeout: 6000, rebalanceTimeout: 6000, groupProtocols: [PROTOCOL] })),
    commit: (groupId, topic) =>
      readRefusal(
        broker.offsetCommit({
          groupId,
          groupGenerationId: -1,
          memberId: '',
          topics: [{ topic, partitions: [{ partition: 0, offset: '9' }] }],
        }),
      ),
    beginTransaction: (transactionalId) => readRefusal(broker.initProducerId({ transactionalId, transactionTimeout: 5000 })),
    close: () => consumer.disconnect(),
  }
}

const PROTOCOL = { name: 'none', metadata: Buffer.alloc(0) }

/** @returns 'yes', or the broker's error type if it refuses the request */
export async function readRefusal(request: Promise<unknown>): Promise<string> {
  try {
    await request
    return 'yes'
  } catch (error) {
    return readErrorType(error)
  }
}

/** Unwraps the broker's error, which the client wraps once or twice. */
function readErrorType(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if ('type' in error) return String(error.type)
  const cause: unknown = 'errors' in error && Array.isArray(error.errors) ? error.errors[0] : error.cause
  return cause === undefined || cause === error ? String(error) : readErrorType(cause)
}
