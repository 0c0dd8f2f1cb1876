import './kafkajs-patches.ts'
import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'
import { expect, it } from 'vitest'

const load = createRequire(import.meta.url)

type Metadata = (this: object) => Promise<unknown>
const cluster = load('kafkajs/src/cluster/index.js') as { readonly prototype: { metadata: Metadata } } // untyped

/** A client whose brokers return the given answer, null if no broker answers. */
const clientAnswering = (answer: object | null) => ({
  retrier: (act: (bail: (error: unknown) => never) => Promise<unknown>) =>
    act((error) => {
      throw error
    }),
  brokerPool: { refreshMetadataIfNecessary: async () => {}, withBroker: async () => answer },
})
const metadata = (answer: object | null): Promise<unknown> => cluster.prototype.metadata.call(clientAnswering(answer))

it('a metadata request fails with a retriable error if no broker answers', async () => {
  await expect(metadata(null)).rejects.toMatchObject({ retriable: true })
})

it('a metadata request returns the answer of the broker', async () => {
  const answer = { topicMetadata: [] }
  expect(await metadata(answer)).toBe(answer)
})

type MetadataRequest = { readonly topics: readonly string[]; readonly allowAutoTopicCreation: boolean }
type AskBroker = (this: object, topics: readonly string[]) => Promise<unknown>
const broker = load('kafkajs/src/broker/index.js') as { readonly prototype: { metadata: AskBroker } } // untyped

it('a metadata request forbids the broker to create the topic', async () => {
  const requests: MetadataRequest[] = []
  const client = { allowAutoTopicCreation: true, lookupRequest: () => (request: MetadataRequest) => void requests.push(request) }
  // The call builds the request, and then fails to send the request, which does not matter here.
  await broker.prototype.metadata.call(client, ['orders']).catch(() => {})
  expect(requests).toEqual([{ topics: ['orders'], allowAutoTopicCreation: false }])
})

type Recover = (this: object, error: Error) => Promise<void>
type Group = new (options: object) => {
  memberId: string
  coordinator: object
  joinAndSync(): Promise<void>
  heartbeat(options: { interval: number }): Promise<void>
}
type Fetch = (this: object, nodeId: string) => Promise<readonly { readonly topic: string; readonly partition: number }[]>
type Groups = Group & { readonly prototype: { readonly recoverFromFetch: Recover; readonly fetch: Fetch } }
const group = load('kafkajs/src/consumer/consumerGroup.js') as Groups // untyped

it('a member ends when its topic is deleted, and joins again when a partition has a new leader', async () => {
  const calls: string[] = []
  const member = {
    logger: { debug: () => {} },
    cluster: { refreshMetadata: async () => void calls.push('looked') },
    joinAndSync: async () => void calls.push('joined'),
  }
  const recover = (type: string) => group.prototype.recoverFromFetch.call(member, Object.assign(new Error(type), { type }))
  await expect(recover('UNKNOWN_TOPIC_OR_PARTITION')).rejects.toMatchObject({ retriable: false })
  expect(calls).toEqual([])
  await recover('NOT_LEADER_FOR_PARTITION')
  expect(calls).toEqual(['looked', 'joined'])
})

/** A member with a fake heartbeat call and a fake search for the next coordinator. */
function member(beat: () => Promise<void>, findGroupCoordinator: () => Promise<object> = never) {
  const logger = { namespace: () => logger, debug: () => {}, info: () => {} }
  const fake = new group({ groupId: 'g', cluster: { findGroupCoordinator }, logger, instrumentationEmitter: { emit: () => {} } })
  return Object.assign(fake, { memberId: 'm', coordinator: { heartbeat: beat } })
}
const never = (): Promise<never> => new Promise(() => {})
const fail = (): Promise<never> => Promise.reject(new kafkajs.KafkaJSConnectionError('Connection error: read ECONNRESET'))
/** Sends a heartbeat that is due at once. `interval` bounds the wait for another coordinator, in ms. */
const beat = (groupMember: ReturnType<typeof member>, interval = 1): Promise<void> => {
  Object.assign(groupMember, { lastRequest: 0 })
  return groupMember.heartbeat({ interval })
}

it('a heartbeat to a lost coordinator waits for a new coordinator until the next heartbeat is due', async () => {
  const search = Promise.withResolvers<object>()
  let searches = 0
  const groupMember = member(fail, () => {
    searches++
    return search.promise
  })
  const before = groupMember.coordinator
  const failure = await beat(groupMember).catch((error: unknown) => error)
  // kafkajs ends a client only for an error with `retriable: false`.
  expect(failure).not.toHaveProperty('retriable', false)
  expect(failure).toBeInstanceOf(Error)
  expect(groupMember.coordinator).toBe(before)
  const found = { heartbeat: () => Promise.resolve() }
  const next = beat(groupMember, 60_000)
  await new Promise(setImmediate)
  search.resolve(found)
  await next
  expect(searches).toBe(1)
  expect(groupMember.coordinator).toBe(found)
})

it('a coordinator search does not replace a coordinator that a join has found meanwhile', async () => {
  const search = Promise.withResolvers<object>()
  const groupMember = member(fail, () => search.promise)
  const beating = beat(groupMember, 60_000)
  const joined = { heartbeat: () => Promise.resolve() }
  await new Promise(setImmediate)
  groupMember.coordinator = joined
  search.resolve({})
  await beating
  expect(groupMember.coordinator).toBe(joined)
})

it('concurrent joins by the fetch loops of several brokers share one join', async () => {
  const joins: PromiseWithResolvers<void>[] = []
  const groupMember = Object.assign(
    member(() => Promise.resolve()),
    {
      retrier: () => {
        const join = Promise.withResolvers<void>()
        joins.push(join)
        return join.promise
      },
    },
  )
  const both = [groupMember.joinAndSync(), groupMember.joinAndSync()]
  await new Promise(setImmediate)
  expect(joins).toHaveLength(1)
  joins[0]?.reject(new Error('the group is divided anew'))
  expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  const nextJoin = groupMember.joinAndSync()
  await new Promise(setImmediate)
  expect(joins).toHaveLength(2)
  joins[1]?.resolve()
  await nextJoin
})

const textMessage = { offset: '7', isControlRecord: false, key: null, value: Buffer.from('text'), headers: {} }

/** A member of a group, and the waits of its fetches. `records` has the records of each partition of the next responses. */
function createReader(records: readonly (readonly object[])[], sessionTimeout = 30_000) {
  const partitions = records.map((_, partition) => partition)
  const assigned = [{ topic: 't', partitions }]
  const waits: number[] = []
  const reader = { records, paused: [] as readonly object[], waits }
  const readPartition = (messages: readonly object[], partition: number) => ({
    partition,
    highWatermark: '8',
    abortedTransactions: [],
    preferredReadReplica: -1,
    messages,
  })
  const fetchOnce = async ({ maxWaitTime }: { readonly maxWaitTime: number }) => {
    waits.push(maxWaitTime)
    return { responses: [{ topicName: 't', partitions: reader.records.map(readPartition) }] }
  }
  const member = {
    sessionTimeout,
    cluster: { refreshMetadataIfNecessary: async () => {}, findBroker: async () => ({ fetch: fetchOnce }) },
    checkForStaleAssignment: () => {},
    subscriptionState: { assigned: () => assigned, isPaused: () => false, paused: () => reader.paused },
    filterPartitionsByNode: () => assigned,
    seekOffsets: async () => {},
    seekOffset: { has: () => false },
    offsetManager: { committedOffsets: () => ({ t: partitions.map(() => '0') }), nextOffset: () => '7' },
    getActiveTopicPartitions: () => ({ t: new Set(partitions) }),
    preferredReadReplicasPerTopicPartition: {},
  }
  return { reader, fetch: () => group.prototype.fetch.call(member, '1') }
}

it('a fetch returns no empty batches, which would pass through the queue of workers', async () => {
  const control = { ...textMessage, isControlRecord: true }
  const batches = await createReader([[], [textMessage], [], [control]]).fetch()
  // The batch that has only a control record moves the offset, so kafkajs has to get it.
  expect(batches.map(({ topic, partition }) => `${topic}/${partition}`)).toEqual(['t/1', 't/3'])
})

it('a fetch of an idle client waits longer for messages, until a message arrives', async () => {
  const { reader, fetch } = createReader([[]])
  const fetchMany = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await fetch()
  }
  await fetchMany(32)
  expect(reader.waits.slice(0, 30)).toEqual(Array.from({ length: 30 }, () => 1000))
  expect(reader.waits.slice(30)).toEqual([2500, 2500])
  reader.records = [[textMessage]]
  await fetch()
  reader.records = [[]]
  await fetch()
  expect(reader.waits.slice(32)).toEqual([2500, 1000])
  reader.paused = [{}]
  await fetchMany(40)
  expect(new Set(reader.waits.slice(34))).toEqual(new Set([1000]))
})

it('a fetch of an idle client ends before its heartbeat is late, and never waits less than other fetches', async () => {
  for (const [sessionTimeout, waitMs] of [
    [6000, 1500],
    [2000, 1000],
  ]) {
    const { reader, fetch } = createReader([[]], sessionTimeout)
    for (let i = 0; i < 31; i++) await fetch()
    expect(reader.waits.at(-1)).toBe(waitMs)
  }
})

type Authenticators = new (
  connection: object,
  logger: object,
  versions: object,
  isNew: boolean,
) => { authenticate(): Promise<void> }
const Authenticator = load('kafkajs/src/broker/saslAuthenticator/index.js') as Authenticators // untyped

/** Logs in at a broker that accepts the handshake and answers the password with an error. */
const logIn = (refusal: Error): Promise<void> => {
  const answers = [() => ({ enabledMechanisms: ['PLAIN'] })]
  const connection = {
    host: 'broker',
    port: 9092,
    sasl: { mechanism: 'plain', username: 'order', password: 'secret' },
    async send() {
      const answer = answers.shift()
      if (!answer) throw refusal
      return answer()
    },
  }
  const logger = { namespace: () => ({ debug: () => {}, error: () => {} }) }
  const versions = { 17: { minVersion: 0, maxVersion: 1 }, 36: { minVersion: 0, maxVersion: 1 } }
  return new Authenticator(connection, logger, versions, true).authenticate()
}

it('a connection loss during a login fails with a retriable error', async () => {
  const reset = new kafkajs.KafkaJSConnectionError('Connection error: read ECONNRESET')
  await expect(logIn(reset)).rejects.toMatchObject({ name: 'KafkaJSConnectionError', retriable: true })
})

it('a refused password fails with an error that is not retriable', async () => {
  const refusal = new kafkajs.KafkaJSProtocolError(Object.assign(new Error('wrong password'), { retriable: false }))
  await expect(logIn(refusal)).rejects.toMatchObject({ name: 'KafkaJSSASLAuthenticationError', retriable: false })
})
