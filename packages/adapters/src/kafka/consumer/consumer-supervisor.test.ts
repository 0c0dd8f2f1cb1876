import { createRequire } from 'node:module'
import type { Assignment, Kafka } from 'kafkajs'
import { afterEach, expect, test } from 'vitest'
import { superviseConsumer } from './consumer-supervisor.ts'
import type { UnreadOffsets } from './stall-detector.ts'

type Join = (this: object) => Promise<void>
/** A fake of kafkajs's original join. It settles with `joined`. */
type FakeJoin = { readonly joined: Promise<void>; readonly leave?: () => Promise<void> }
const load = createRequire(import.meta.url)
const group = load('kafkajs/src/consumer/consumerGroup.js') as { readonly prototype: { joinAndSync: Join } } // untyped

type Listener = (event: { readonly payload: object }) => void
type Assigner = { protocol(subscription: { readonly topics: readonly string[] }): object }

/** A fake Kafka whose clients act only when the test calls them. */
function clients() {
  const made: ReturnType<typeof client>[] = []
  function client(partitionAssigners: readonly ((parts: object) => Assigner)[]) {
    const cluster = {}
    const listeners = new Map<string, Listener[]>()
    const assigner = partitionAssigners[0]?.({ cluster, groupId: 'g', logger: {} })
    return {
      assigner,
      disconnected: 0,
      on: (name: string, listener: Listener) => void listeners.set(name, [...(listeners.get(name) ?? []), listener]),
      emit: (name: string, payload: object = {}) =>
        listeners.get(`consumer.${name}`)?.forEach((listener) => listener({ payload })),
      /** Runs the patched join of kafkajs, which ends when `joined` settles. */
      join: ({ joined, leave }: FakeJoin) => group.prototype.joinAndSync.call({ cluster, retrier: () => joined, leave }),
      connect: () => Promise.resolve(),
      subscribed: [] as readonly string[],
      subscribe({ topics }: { readonly topics: readonly string[] }) {
        this.subscribed = topics
        return Promise.resolve()
      },
      run: () => Promise.resolve(),
      disconnect() {
        this.disconnected++
        return Promise.resolve()
      },
    }
  }
  const kafka = {
    consumer({ partitionAssigners }: { partitionAssigners: readonly ((parts: object) => Assigner)[] }) {
      const newClient = client(partitionAssigners)
      made.push(newClient)
      return newClient
    },
  }
  return { made, kafka: kafka as unknown as Kafka } // only what `superviseConsumer` uses
}

type Client = ReturnType<typeof clients>['made'][number]

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

let stop = new AbortController()
afterEach(() => {
  stop.abort()
  stop = new AbortController()
})

/**
 * @param unreadOffsets called at each check
 * @param onSleep called between checks
 * @param inFlight how long a pause drains messages
 */
async function startSupervisor(
  unreadOffsets: () => UnreadOffsets,
  onSleep: (newest: Client | undefined) => void,
  inFlight = Promise.resolve(),
) {
  const { made, kafka } = clients()
  const events: string[] = []
  const topics = [{ topic: 't', partitions: 4 }]
  const reasons: unknown[] = []
  let now = 0
  let heard = 0
  const clock = {
    now: () => 0,
    monotonicMs: () => now,
    async sleep(ms: number) {
      now += ms
      onSleep(made.at(-1))
      await nextTurn()
    },
  }
  const callbacks = {
    topics: () => topics,
    eachBatch: () => Promise.resolve(),
    rebalanceListener: {
      async beforeRebalance() {
        events.push('paused')
        await inFlight
      },
      afterRebalance: () => void events.push('resumed'),
    },
    onAssigned: (assignment: Assignment) => void events.push(`assigned ${JSON.stringify(assignment)}`),
    beforeRestart: async () => void events.push('drained'),
    unreadOffsets,
    onMember: () => void heard++,
    onEnded: () => void events.push('ended'),
  }
  const log = { debug: () => {}, info: () => {}, warn: ({ reason }: { reason?: unknown }) => void reasons.push(reason) }
  const options = { groupId: 'g', sessionTimeoutMs: 10_000, stallTimeoutMs: 120_000, clock, log }
  const supervisor = superviseConsumer(kafka, callbacks, options, stop.signal)
  const until = async (condition: () => boolean): Promise<void> => {
    for (let tries = 0; !condition(); tries++) {
      if (tries > 10_000) throw new Error('the condition was never met')
      await nextTurn()
    }
  }
  const addTopic = (topic: string): void => {
    topics.push({ topic, partitions: 1 })
    supervisor.updateTopics()
  }
  await until(() => made.length === 1)
  return { made, events, reasons, until, addTopic, now: () => now, heard: () => heard }
}

const nothingUnread: UnreadOffsets = new Map()
/** The error that ends an abandoned client. kafkajs does not retry it. */
const ABANDONED = { message: 'this client was abandoned', retriable: false }

test('a client that is abandoned during its join ends its pause of the processor and leaves the group', async () => {
  const { made, events, until } = await startSupervisor(
    () => nothingUnread,
    (newest) => newest?.emit('heartbeat'),
  )
  const joining = Promise.withResolvers<void>()
  const [first] = made
  const joined = first?.join({ joined: joining.promise, leave: async () => void events.push('left') })
  await until(() => events.includes('paused'))
  first?.emit('crash', { error: new Error('a broker died') })
  await until(() => made.length === 2)
  expect(events).toEqual(['paused', 'ended', 'resumed'])
  joining.resolve()
  // The broker completes the join after the client was abandoned, so the client has to leave.
  await expect(joined).rejects.toMatchObject(ABANDONED)
  expect(events).toEqual(['paused', 'ended', 'resumed', 'left'])
  await expect(first?.join({ joined: Promise.resolve() })).rejects.toMatchObject(ABANDONED)
  expect(() => first?.assigner?.protocol({ topics: ['t'] })).toThrow(ABANDONED.message)
  expect(events).toEqual(['paused', 'ended', 'resumed', 'left'])
  expect(made[1]?.assigner?.protocol({ topics: ['t'] })).toMatchObject({ name: 'PenstockSubscriptionAssigner' })
  await made[1]?.join({ joined: Promise.resolve() })
  expect(events).toEqual(['paused', 'ended', 'resumed', 'left', 'paused', 'resumed'])
})

test('a client that is abandoned while it drains messages in flight does not join', async () => {
  const inFlight = Promise.withResolvers<void>()
  const { made, events, until } = await startSupervisor(
    () => nothingUnread,
    (newest) => newest?.emit('heartbeat'),
    inFlight.promise,
  )
  const [first] = made
  const joined = first?.join({ joined: Promise.resolve(), leave: async () => void events.push('joined, and left') })
  await until(() => events.includes('paused'))
  first?.emit('crash', { error: new Error('a broker died') })
  await until(() => made.length === 2)
  inFlight.resolve()
  await expect(joined).rejects.toMatchObject(ABANDONED)
  expect(events).toEqual(['paused', 'ended', 'resumed'])
})

test('an abandoned client that becomes a member gets no partitions, and its events have no effect', async () => {
  const { made, events, heard, until } = await startSupervisor(
    () => nothingUnread,
    () => {},
  )
  made[0]?.emit('crash', { error: new Error('a broker died') })
  await until(() => made.length === 2)
  made[0]?.emit('group_join', { memberAssignment: { t: [0] } })
  made[0]?.emit('heartbeat')
  expect(heard()).toBe(0)
  made[1]?.emit('group_join', { memberAssignment: { t: [1] } })
  expect(events).toEqual(['ended', 'assigned {"t":[1]}'])
  expect(heard()).toBe(1)
})

test('a client is replaced if one partition makes no progress, although fetches succeed', async () => {
  const { made, reasons, until } = await startSupervisor(
    () => new Map([['t/3', 7]]),
    (newest) => newest?.emit('fetch'),
  )
  await until(() => made.length === 2)
  expect(reasons).toEqual(['partition t/3 makes no progress'])
})

test('a client without activity is replaced, but a client whose partitions progress slowly is not', async () => {
  let tries = 0
  let isMute = false
  const { made, reasons, until, now } = await startSupervisor(
    () => new Map([['t/3', Math.floor(tries++ / 20)]]),
    (newest) => {
      if (!isMute) newest?.emit('fetch')
    },
  )
  await until(() => now() > 1_000_000)
  expect(made).toHaveLength(1)
  isMute = true
  await until(() => made.length === 2)
  expect(reasons).toEqual(['no activity'])
})

test('failed joins while brokers load their groups log a warning only after ten attempts', async () => {
  const loading = { error: new Error('the coordinator is loading') }
  const { made, reasons, until } = await startSupervisor(
    () => nothingUnread,
    (newest) => newest?.emit('heartbeat'),
  )
  for (let attempts = 1; attempts <= 11; attempts++) {
    expect(reasons).toEqual([])
    made.at(-1)?.emit('crash', loading)
    await until(() => made.length === attempts + 1)
  }
  expect(reasons).toEqual([loading.error.message])
})

test('a member that ends logs a warning at once', async () => {
  const { made, reasons, until } = await startSupervisor(
    () => nothingUnread,
    (newest) => newest?.emit('heartbeat'),
  )
  made[0]?.emit('group_join', { memberAssignment: { t: [0] } })
  made[0]?.emit('crash', { error: new Error('a broker died') })
  await until(() => made.length === 2)
  expect(reasons).toEqual(['a broker died'])
})

test('a consumer with all topics replaces the current one once the topics no longer change, and messages are drained before', async () => {
  const { made, events, reasons, until, addTopic } = await startSupervisor(
    () => nothingUnread,
    (newest) => newest?.emit('heartbeat'),
  )
  const [first] = made
  await until(() => first?.subscribed.length === 1)
  addTopic('second')
  addTopic('third')
  for (let turn = 0; turn < 100; turn++) await nextTurn()
  // A client is not replaced during its join.
  expect(made).toHaveLength(1)
  first?.emit('group_join', { memberAssignment: { t: [0] } })
  await until(() => made.length === 2)
  await until(() => made[1]?.subscribed.length === 3)
  expect(made[1]?.subscribed).toEqual(['t', 'second', 'third'])
  expect(events).toEqual(['assigned {"t":[0]}', 'drained', 'ended'])
  expect(first?.disconnected).toBe(1)
  expect(reasons).toEqual([])
  first?.emit('group_join', { memberAssignment: { t: [0] } })
  made[1]?.emit('group_join', { memberAssignment: { t: [0], second: [0] } })
  expect(events.slice(3)).toEqual(['assigned {"t":[0],"second":[0]}'])
})
