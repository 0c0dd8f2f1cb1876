import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'

/*
 * What kafkajs 2.2.4 does wrong and cannot be told to do right, mended in its classes at run time, so that the mends also
 * reach who installs it from npm. Loaded before the first client is made.
 */

// Node finds no names of its errors by itself.
const { KafkaJSError, KafkaJSNonRetriableError } = kafkajs

type RequestQueue = {
  throttledUntil: number
  throttleCheckTimeoutId: NodeJS.Timeout | null
  readonly pending: readonly unknown[]
  checkPendingRequests(): void
}

/** What we use of the class behind a consumer. */
export type ConsumerGroup = {
  readonly groupId: string
  readonly cluster: { findGroupCoordinator(group: { readonly groupId: string }): Promise<object> }
  coordinator: object | null
  /** Made anew with every assignment. */
  readonly offsetManager: { coordinator: object } | null
  readonly heartbeat: (this: ConsumerGroup, options: { readonly interval: number }) => Promise<void>
  readonly joinAndSync: (this: ConsumerGroup) => Promise<void>
  readonly fetch: (this: ConsumerGroup, nodeId: number) => Promise<object[]>
  readonly recoverFromFetch: (this: ConsumerGroup, error: Error & { readonly type?: string }) => Promise<void>
  commitOffsets(offsets: {
    readonly topics: readonly { readonly topic: string; readonly partitions: readonly PartitionOffset[] }[]
  }): Promise<void>
}
export type PartitionOffset = { readonly partition: number; readonly offset: string }

type Broker = {
  allowAutoTopicCreation: boolean
  readonly metadata: (this: Broker, topics?: readonly string[]) => Promise<object>
}
type Cluster = { readonly metadata: (this: Cluster, about?: { readonly topics?: readonly string[] }) => Promise<object | null> }

type Connection = { readonly send: (this: Connection, request: object) => Promise<unknown> }
type Authenticator = { connection: Connection; readonly authenticate: (this: Authenticator) => Promise<void> }

type Class<T> = { readonly prototype: T }
const load = createRequire(import.meta.url)
const queues = (load('kafkajs/src/network/requestQueue/index.js') as Class<RequestQueue>).prototype // its class, untyped
const groups = (load('kafkajs/src/consumer/consumerGroup.js') as Class<ConsumerGroup>).prototype // its class, untyped
const brokers = (load('kafkajs/src/broker/index.js') as Class<Broker>).prototype // its class, untyped
const authenticators = (load('kafkajs/src/broker/saslAuthenticator/index.js') as Class<Authenticator>).prototype // its class, untyped
const clusters = (load('kafkajs/src/cluster/index.js') as Class<Cluster>).prototype // its class, untyped

const LOOK_AGAIN_MS = 10
const UNREACHABLE = /^KafkaJS(Connection|RequestTimeout|BrokerNotFound|Lock)/

/**
 * Every connection would set a timer for the past when nothing is pending and nothing throttled: it wakes up each
 * millisecond for ever, and Node warns of the negative time.
 */
Object.assign(queues, {
  scheduleCheckPendingRequests(this: RequestQueue): void {
    if (this.throttleCheckTimeoutId) return
    const throttledMs = this.throttledUntil - Date.now()
    if (throttledMs <= 0 && this.pending.length === 0) return
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null
        this.checkPendingRequests()
      },
      throttledMs > 0 ? throttledMs : LOOK_AGAIN_MS,
    )
  },
})

/** What a member does before its partitions may be given to others, and once it knows which it has. */
export type Handover = { before(group: ConsumerGroup): Promise<void>; after(): void }
const handovers = new WeakMap<object, Handover>()
const fetchedUnder = new WeakMap<object, { readonly group: ConsumerGroup; readonly offsets: object | null }>()
const { joinAndSync, fetch, recoverFromFetch, heartbeat } = groups
const { metadata } = clusters
const { metadata: askBroker } = brokers
const { authenticate } = authenticators

/** @param cluster as a partition assigner is given it */
export const onHandover = (cluster: object, handover: Handover): void => void handovers.set(cluster, handover)

/**
 * Whether a batch was asked for before the present assignment: noting it as read would move the new assignment's place
 * past what nobody has handled.
 */
export function isStale(batch: object): boolean {
  const under = fetchedUnder.get(batch)
  return under !== undefined && under.group.offsetManager !== under.offsets
}

Object.assign(groups, {
  /** Nobody is told that a rebalance begins: what is in hand would be handed to another member at the same time. */
  async joinAndSync(this: ConsumerGroup): Promise<void> {
    const handover = handovers.get(this.cluster)
    await handover?.before(this)
    try {
      await joinAndSync.call(this)
    } finally {
      handover?.after()
    }
  },
  /**
   * A coordinator that is gone is asked again for as long as it is gone: nothing is committed meanwhile, and the member is
   * given up by the new one without knowing it.
   */
  async heartbeat(this: ConsumerGroup, options: { readonly interval: number }): Promise<void> {
    try {
      await heartbeat.call(this, options)
    } catch (error) {
      if (!(error instanceof Error && UNREACHABLE.test(error.name))) throw error
      this.coordinator = await this.cluster.findGroupCoordinator({ groupId: this.groupId })
      if (this.offsetManager) this.offsetManager.coordinator = this.coordinator
    }
  },
  async fetch(this: ConsumerGroup, nodeId: number): Promise<object[]> {
    const offsets = this.offsetManager
    const batches = await fetch.call(this, nodeId)
    for (const batch of batches) fetchedUnder.set(batch, { group: this, offsets })
    return batches
  },
  /**
   * Once a topic is deleted, the places in it mean nothing: a member that lives on would go on at its own in the one that
   * is made anew, and pass over what came before.
   */
  async recoverFromFetch(this: ConsumerGroup, error: Error & { readonly type?: string }): Promise<void> {
    if (error.type === 'UNKNOWN_TOPIC_OR_PARTITION') throw new KafkaJSNonRetriableError('the topic is not there')
    await recoverFromFetch.call(this, error)
  },
})

Object.assign(clusters, {
  /** Where every broker fails to answer it answers nothing, and whoever asked stumbles over that for good. */
  async metadata(this: Cluster, about?: { readonly topics?: readonly string[] }): Promise<object> {
    const answer = await metadata.call(this, about)
    if (!answer) throw new KafkaJSError('no broker answered', { retriable: true })
    return answer
  },
})

Object.assign(brokers, {
  /** A client for administration lets a broker make each topic that it asks for, with the broker's settings instead of ours. */
  async metadata(this: Broker, topics?: readonly string[]): Promise<object> {
    this.allowAutoTopicCreation = false
    return askBroker.call(this, topics)
  },
})

Object.assign(authenticators, {
  /**
   * A connection that breaks off during a log-in says nothing of the password. It is told as a refusal, though, which ends a
   * client for good: a service whose broker died just then did not start.
   */
  async authenticate(this: Authenticator): Promise<void> {
    const { connection } = this
    let broken: Error | undefined
    const send = async (request: object): Promise<unknown> => {
      try {
        return await connection.send(request)
      } catch (error) {
        if (error instanceof Error && UNREACHABLE.test(error.name)) broken = error
        throw error
      }
    }
    this.connection = Object.assign(Object.create(connection) as object, { send })
    try {
      await authenticate.call(this)
    } catch (error) {
      throw broken ?? error
    } finally {
      this.connection = connection
    }
  },
})
