import { createRequire } from 'node:module'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import kafkajs from 'kafkajs'
import { systemClock } from '../../system/clock.ts'

/*
 * Patches for defects of kafkajs 2.2.4 that no option avoids. They change its classes at run time, so that they also apply to an
 * installation from npm. A program has to load this module before it creates its first client.
 */

// Node cannot import the errors of this CommonJS package by name.
const { KafkaJSError, KafkaJSNonRetriableError } = kafkajs

/** The members that we use of kafkajs's internal consumer group class. */
export type ConsumerGroup = {
  readonly groupId: string
  readonly sessionTimeout: number
  /** Maximum wait in ms of a fetch for messages. */
  maxWaitTime: number
  readonly subscriptionState: { paused(): readonly object[] }
  readonly cluster: { findGroupCoordinator(group: { readonly groupId: string }): Promise<object> }
  coordinator: object | null
  /** Recreated at every assignment. */
  readonly offsetManager: { coordinator: object } | null
  readonly heartbeat: (this: ConsumerGroup, options: { readonly interval: number }) => Promise<void>
  readonly joinAndSync: (this: ConsumerGroup) => Promise<void>
  /** Has no effect before the first join. */
  leave(): Promise<void>
  readonly fetch: (this: ConsumerGroup, nodeId: number) => Promise<FetchedBatch[]>
  readonly recoverFromFetch: (this: ConsumerGroup, error: Error & { readonly type?: string }) => Promise<void>
  commitOffsets(offsets: {
    readonly topics: readonly { readonly topic: string; readonly partitions: readonly PartitionOffset[] }[]
  }): Promise<void>
}
type FetchedBatch = {
  isEmpty(): boolean
  /** Whether the batch has only control records or aborted messages, which move the offset. */
  isEmptyDueToFiltering(): boolean
}
export type PartitionOffset = { readonly partition: number; readonly offset: string }

type Broker = {
  allowAutoTopicCreation: boolean
  readonly metadata: (this: Broker, topics?: readonly string[]) => Promise<object>
}
type Cluster = { readonly metadata: (this: Cluster, about?: { readonly topics?: readonly string[] }) => Promise<object | null> }

type Connection = { readonly send: (this: Connection, request: object) => Promise<unknown> }
type Authenticator = { connection: Connection; readonly authenticate: (this: Authenticator) => Promise<void> }

type Metadata = { readonly topicMetadata: readonly { readonly partitionMetadata: readonly PartitionState[] }[] }
type PartitionState = { readonly leader: number; partitionErrorCode: number }
type MetadataResponse = { readonly parse: (answer: Metadata) => Promise<Metadata> }

type Class<T> = { readonly prototype: T }
const load = createRequire(import.meta.url)
const groups = (load('kafkajs/src/consumer/consumerGroup.js') as Class<ConsumerGroup>).prototype // its class, untyped
const brokers = (load('kafkajs/src/broker/index.js') as Class<Broker>).prototype // its class, untyped
const authenticators = (load('kafkajs/src/broker/saslAuthenticator/index.js') as Class<Authenticator>).prototype // its class, untyped
const clusters = (load('kafkajs/src/cluster/index.js') as Class<Cluster>).prototype // its class, untyped
// The version that brokers since Kafka 1.1 answer.
const metadataResponse = load('kafkajs/src/protocol/requests/metadata/v6/response.js') as MetadataResponse // untyped

/** Maximum wait of a fetch for messages, in ms. It also bounds the delay of a resumed partition. */
const FETCH_WAIT_MS = 1000
/** Maximum wait of an idle client's fetch, in ms. A close or a rebalance may take that long. */
export const IDLE_FETCH_WAIT_MS = 2500
/** Number of consecutive empty fetches after which a client is idle. */
const IDLE_AFTER_FETCHES = 30
/** Heartbeats that a client sends within its session timeout. It sends them only between its fetches. */
export const HEARTBEATS_PER_SESSION = 4

/** @returns a wait after which the heartbeat is not late */
const idleFetchWaitMs = (sessionTimeoutMs: number): number =>
  Math.max(FETCH_WAIT_MS, Math.min(IDLE_FETCH_WAIT_MS, sessionTimeoutMs / HEARTBEATS_PER_SESSION))

const UNREACHABLE = /^KafkaJS(Connection|RequestTimeout|BrokerNotFound|Lock)/

/** Hooks of a member: `beforeRebalance` runs before its partitions may go to other members, `afterRebalance` after the join. */
export type RebalanceListener = { beforeRebalance(group: ConsumerGroup): Promise<void>; afterRebalance(): void }
/** `afterJoin` throws an error that ends the client if the client must not be a member. */
type JoinListener = RebalanceListener & { afterJoin(group: ConsumerGroup): Promise<void> }
const rebalanceListeners = new WeakMap<object, JoinListener>()
const joins = new WeakMap<ConsumerGroup, Promise<void>>()
const emptyFetchCounts = new WeakMap<ConsumerGroup, number>()
const coordinatorSearches = new WeakMap<ConsumerGroup, Promise<void>>()
const fetchAssignments = new WeakMap<object, { readonly group: ConsumerGroup; readonly offsets: object | null }>()
const { joinAndSync, fetch, recoverFromFetch, heartbeat } = groups
const { metadata } = clusters
const { metadata: requestMetadata } = brokers
const { authenticate } = authenticators
const { parse: parseMetadata } = metadataResponse
/** The leader of a partition that has none. */
const NO_LEADER = -1

/** @param cluster the object that a partition assigner receives */
export const setRebalanceListener = (cluster: object, listener: JoinListener): void =>
  void rebalanceListeners.set(cluster, listener)

/**
 * Whether a batch was fetched before the current assignment. Such a batch must not be marked as read, because that would move the
 * offset of the new assignment past unhandled messages.
 */
export function isStale(batch: object): boolean {
  const fetchedFor = fetchAssignments.get(batch)
  return fetchedFor !== undefined && fetchedFor.group.offsetManager !== fetchedFor.offsets
}

/**
 * Joins the group and calls the listener around the join. kafkajs has no event at the start of a rebalance, so without the
 * listener another member would get messages that this member still handles.
 */
async function join(group: ConsumerGroup): Promise<void> {
  const listener = rebalanceListeners.get(group.cluster)
  await listener?.beforeRebalance(group)
  try {
    await joinAndSync.call(group).catch(async (error: unknown) => {
      // An abandoned client may have become a member before its join failed.
      await listener?.afterJoin(group).catch(() => {})
      throw error
    })
    await listener?.afterJoin(group)
  } finally {
    listener?.afterRebalance()
  }
}

/** Finds the new coordinator. The search lasts while the coordinator is unreachable. */
async function findCoordinator(group: ConsumerGroup): Promise<void> {
  const previous = group.coordinator
  const found = await group.cluster.findGroupCoordinator({ groupId: group.groupId })
  // A join has found a coordinator during the search.
  if (group.coordinator !== previous) return
  group.coordinator = found
  if (group.offsetManager) group.offsetManager.coordinator = found
}

/** @returns the running call for this group, or a new one */
function shareCall(calls: WeakMap<ConsumerGroup, Promise<void>>, group: ConsumerGroup, start: typeof join): Promise<void> {
  const call = calls.get(group) ?? start(group).finally(() => calls.delete(group))
  calls.set(group, call)
  return call
}

Object.assign(groups, {
  /**
   * Shares a running join. The fetch loop of each broker joins on its own when leaders change. If the brokers have forgotten the
   * client, two concurrent joins create two members. One of the two sends no heartbeats, and no client reads its partitions.
   */
  joinAndSync(this: ConsumerGroup): Promise<void> {
    return shareCall(joins, this, join)
  },
  /**
   * Without this patch, kafkajs searches a lost coordinator without limit. Meanwhile it commits no offset, and the new
   * coordinator drops the member. The heartbeat blocks the reader, although other brokers have messages. So it waits for a new
   * coordinator at most until the next heartbeat is due.
   */
  async heartbeat(this: ConsumerGroup, options: { readonly interval: number }): Promise<void> {
    try {
      await heartbeat.call(this, options)
    } catch (error) {
      if (!(error instanceof Error && UNREACHABLE.test(error.name))) throw error
      // A timeout does not end the client: only an error that is not retriable does.
      await withTimeout(systemClock, options.interval, shareCall(coordinatorSearches, this, findCoordinator))
    }
  },
  /**
   * Sets the wait of the fetch. An idle client waits longer for messages, because each fetch costs the client and the broker CPU.
   * The broker answers at once when a message arrives.
   *
   * Drops the empty batches. A fetch returns a batch for each assigned partition, and kafkajs passes each of them through its
   * queue of workers, with a heartbeat.
   */
  async fetch(this: ConsumerGroup, nodeId: number): Promise<object[]> {
    const offsets = this.offsetManager
    const emptyFetches = emptyFetchCounts.get(this) ?? 0
    const isIdle = emptyFetches >= IDLE_AFTER_FETCHES
    this.maxWaitTime = isIdle ? idleFetchWaitMs(this.sessionTimeout) : FETCH_WAIT_MS
    const batches = (await fetch.call(this, nodeId)).filter((batch) => !batch.isEmpty() || batch.isEmptyDueToFiltering())
    for (const batch of batches) fetchAssignments.set(batch, { group: this, offsets })
    // The first fetch after a pause must not wait long, because messages are waiting.
    const isEmpty = batches.length === 0 && this.subscriptionState.paused().length === 0
    emptyFetchCounts.set(this, isEmpty ? emptyFetches + 1 : 0)
    return batches
  },
  /**
   * Ends a member whose topic was deleted. Otherwise the member would continue at its old offset in the recreated topic, and skip
   * the messages before that offset.
   */
  async recoverFromFetch(this: ConsumerGroup, error: Error & { readonly type?: string }): Promise<void> {
    if (error.type === 'UNKNOWN_TOPIC_OR_PARTITION') throw new KafkaJSNonRetriableError('the topic does not exist')
    await recoverFromFetch.call(this, error)
  },
})

Object.assign(clusters, {
  /** Without this patch, kafkajs returns `null` if no broker answers, and the caller then fails without a retry. */
  async metadata(this: Cluster, about?: { readonly topics?: readonly string[] }): Promise<object> {
    const answer = await metadata.call(this, about)
    if (!answer) throw new KafkaJSError('no broker answered', { retriable: true })
    return answer
  },
})

Object.assign(brokers, {
  /**
   * Without this patch, a metadata request of an admin client creates the requested topics, with the broker's settings instead of
   * ours.
   */
  async metadata(this: Broker, topics?: readonly string[]): Promise<object> {
    this.allowAutoTopicCreation = false
    return requestMetadata.call(this, topics)
  },
})

Object.assign(metadataResponse, {
  /**
   * Without this patch, a client reads no metadata while any partition of its topics has no leader. Its fetches and sends then
   * fail for all partitions. A partition without a leader is not fetched, and a send to it fails.
   */
  async parse(answer: Metadata): Promise<Metadata> {
    const partitions = answer.topicMetadata.flatMap(({ partitionMetadata }) => partitionMetadata)
    for (const partition of partitions) if (partition.leader === NO_LEADER) partition.partitionErrorCode = 0
    return parseMetadata(answer)
  },
})

Object.assign(authenticators, {
  /**
   * Without this patch, kafkajs reports a connection loss during a login as a refused password, which ends the client. A service
   * then fails to start if its broker crashes at that moment.
   */
  async authenticate(this: Authenticator): Promise<void> {
    const { connection } = this
    let connectionError: Error | undefined
    const send = async (request: object): Promise<unknown> => {
      try {
        return await connection.send(request)
      } catch (error) {
        if (error instanceof Error && UNREACHABLE.test(error.name)) connectionError = error
        throw error
      }
    }
    this.connection = Object.assign(Object.create(connection) as object, { send })
    try {
      await authenticate.call(this)
    } catch (error) {
      throw connectionError ?? error
    } finally {
      this.connection = connection
    }
  },
})
