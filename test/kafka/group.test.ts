import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KafkaBusOptions } from '@penstock/adapters/kafka/bus.ts'
import type { Bus, BusMessage, HandlerResult } from '@penstock/ports/bus.ts'
import { Kafka, logLevel } from 'kafkajs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createOrderChecker, createNumberedMessage, startPublishing, pollUntil } from './numbered-messages.ts'
import { type TestGroupMember, startGroupMember } from './members.ts'
import { getSharedBroker, createBusOptions, isKafkaMissing, openKafkaBus, createPrefix } from './servers.ts'

const keys = Array.from({ length: 40 }, (_, n) => `key-${n}`)
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

describe.skipIf(isKafkaMissing)('a consumer group', () => {
  let folder: string
  let options: KafkaBusOptions
  const closers: (() => Promise<unknown>)[] = []
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'penstock-group-'))
    options = createBusOptions(getSharedBroker(), createPrefix())
  })
  afterEach(async () => {
    await Promise.all(closers.splice(0).map((close) => close()))
    await rm(folder, { recursive: true })
  })
  const file = (): string => join(folder, 'views.db')
  async function open(): Promise<{ bus: Bus; close: () => Promise<void> }> {
    const opened = await openKafkaBus(options, file())
    let closing: Promise<void> | undefined
    const close = () => (closing ??= opened.close())
    closers.push(close)
    return { bus: opened.bus, close }
  }
  function memberProcess(topic: string, workMs = 0): TestGroupMember {
    const member = startGroupMember(options, file(), topic, workMs)
    closers.push(() => member.end('SIGKILL'))
    return member
  }
  async function admin<T>(action: (admin: ReturnType<Kafka['admin']>) => Promise<T>): Promise<T> {
    const client = new Kafka({ brokers: [...getSharedBroker().brokers], logLevel: logLevel.NOTHING }).admin()
    await client.connect()
    try {
      return await action(client)
    } finally {
      await client.disconnect()
    }
  }

  it('keeps the order and gives no two members messages of one key at once while members join and leave under load', async () => {
    // Long enough that no member exceeds the session timeout on a busy machine.
    options = { ...options, sessionTimeoutMs: 10_000 }
    const checker = createOrderChecker()
    const handle = async (message: Parameters<typeof checker.handle>[0]): Promise<HandlerResult> => {
      await checker.handle(message, () => sleep(2))
      return 'done'
    }
    const subscribe = async () => {
      const member = await open()
      await member.bus.subscribe({ group: 'readers', topic: 'load', handle })
      return member
    }
    const publisher = await open()
    const first = await subscribe()
    const load = startPublishing(publisher.bus, 'load', keys, 50)
    await pollUntil(() => checker.total() > 200, 'the first messages')
    const second = await subscribe()
    const beforeJoin = checker.total()
    await pollUntil(() => checker.total() > beforeJoin + 1000, 'messages with two members')
    const third = await subscribe()
    await first.close()
    const beforeLeave = checker.total()
    await pollUntil(() => checker.total() > beforeLeave + 1000, 'messages after one member left')
    await load.stop()
    await pollUntil(() => keys.every((key) => checker.handled(key) >= (load.acknowledged.get(key) ?? 0)), 'all messages')
    console.log(`${load.total()} messages through 4 rebalances: ${checker.repeats()} repeats, ${checker.overlaps()} overlaps`)
    expect(checker.breaches).toEqual([])
    expect(checker.overlaps()).toBe(0)
    // A member commits handled messages before a rebalance. If rebalances follow each other closely, a commit may be too late.
    expect(checker.repeats()).toBeLessThan(load.total() / 20)
    await Promise.all([second.close(), third.close()])
  })

  it('continues without a frozen member, which joins the group again when it resumes', async () => {
    const { bus } = await open()
    const frozen = memberProcess('load')
    await bus.publish(
      'load',
      keys.map((key) => createNumberedMessage(key, 0)),
    )
    await pollUntil(() => new Set(frozen.handledIds).size === keys.length, 'the first messages')
    const checker = new Set<string>()
    await bus.subscribe({ group: 'readers', topic: 'load', handle: async ({ id }) => (checker.add(id), 'done') })
    frozen.child.kill('SIGSTOP')
    const second = keys.map((key) => createNumberedMessage(key, 1))
    await bus.publish('load', second)
    await pollUntil(() => second.every(({ id }) => checker.has(id)), 'the messages of all partitions at the other member')
    frozen.child.kill('SIGCONT')
    let round = 2
    const before = frozen.handledIds.length
    await pollUntil(async () => {
      await bus.publish(
        'load',
        keys.map((key) => createNumberedMessage(key, round)),
      )
      round++
      await sleep(100)
      return frozen.handledIds.length > before
    }, 'messages at the member that was frozen')
    expect(await frozen.end('SIGTERM')).toBe(0)
  })

  it('gives the partitions of a killed member to another member after the session timeout', async () => {
    const { bus } = await open()
    const killed = memberProcess('load', 5)
    const messages = keys.flatMap((key) => [
      createNumberedMessage(key, 0),
      createNumberedMessage(key, 1),
      createNumberedMessage(key, 2),
    ])
    await bus.publish('load', messages)
    await pollUntil(() => killed.handledIds.length > 20, 'some messages')
    await killed.end('SIGKILL')
    const remaining = messages.filter(({ id }) => !killed.handledIds.includes(id))
    const checker = new Set<string>()
    await bus.subscribe({ group: 'readers', topic: 'load', handle: async ({ id }) => (checker.add(id), 'done') })
    await pollUntil(() => remaining.every(({ id }) => checker.has(id)), 'the remaining messages')
  })

  it.each(['rewound', 'deleted'] as const)(
    'reads all messages again in order, and loses none, after its offsets were %s',
    async (what) => {
      const first = await open()
      await first.bus.subscribe({
        group: 'readers',
        topic: 'load',
        handle: async ({ key }) => (key === 'key-0' ? { park: 'no' } : 'done'),
      })
      await first.bus.publish(
        'load',
        keys.flatMap((key) => [createNumberedMessage(key, 0), createNumberedMessage(key, 1)]),
      )
      await pollUntil(async () => (await first.bus.parked())[0]?.messages === 2, 'the parked key')
      await first.close()
      const groupId = `${options.prefix}readers`
      const tamper = (): Promise<boolean> =>
        admin(async (client) => {
          if (what === 'deleted') await client.deleteGroups([groupId])
          else
            await client.setOffsets({
              groupId,
              topic: `${options.prefix}load`,
              partitions: [0, 1, 2, 3].map((partition) => ({ partition, offset: '0' })),
            })
        }).then(
          () => true,
          () => false,
        )
      await pollUntil(tamper, 'the group has no member')
      const { bus } = await open()
      const checker = createOrderChecker()
      await bus.publish(
        'load',
        keys.map((key) => createNumberedMessage(key, 2)),
      )
      await bus.subscribe({ group: 'readers', topic: 'load', handle: async (message) => (await checker.handle(message), 'done') })
      await pollUntil(() => keys.slice(1).every((key) => checker.handled(key) === 3), 'everything again')
      await pollUntil(async () => (await bus.parked())[0]?.messages === 3, 'the parked key with the new message')
      expect(checker.handled('key-0')).toBe(0)
      expect(await bus.replay({ group: 'readers', topic: 'load', key: 'key-0' })).toBe(3)
      await pollUntil(() => checker.handled('key-0') === 3, 'the parked messages')
      expect(checker.breaches).toEqual([])
    },
  )

  it('holds back a parked key at any member, and replays it at the request of any process', async () => {
    const one = await open()
    let isRepaired = false
    const handle = async ({ key }: { key: string }): Promise<HandlerResult> =>
      key === 'bad' && !isRepaired ? { park: 'broken' } : 'done'
    await one.bus.subscribe({ group: 'readers', topic: 'load', handle })
    await one.bus.publish('load', [createNumberedMessage('bad', 0), createNumberedMessage('bad', 1)])
    await pollUntil(async () => (await one.bus.parked())[0]?.messages === 2, 'the parked key')
    const other = await open()
    const checker = createOrderChecker()
    await other.bus.subscribe({
      group: 'readers',
      topic: 'load',
      handle: async (message) => (await checker.handle(message), handle(message)),
    })
    await one.close()
    await other.bus.publish('load', [createNumberedMessage('bad', 2), createNumberedMessage('good', 0)])
    await pollUntil(() => checker.handled('good') === 1, 'another key')
    await pollUntil(async () => (await other.bus.parked())[0]?.messages === 3, 'the third message behind the others')
    expect(checker.handled('bad')).toBe(0)
    isRepaired = true
    const operator = await open()
    expect(await operator.bus.replay({ group: 'readers', topic: 'load', key: 'bad' })).toBe(3)
    await pollUntil(async () => checker.handled('bad') === 3 && (await operator.bus.parked()).length === 0, 'the replay')
    expect(checker.breaches).toEqual([])
  })

  it('handles regular messages while more low-priority messages wait than a partition may have in flight', async () => {
    const isLowPriority = ({ headers }: BusMessage): boolean => headers['unpaid'] === 'yes'
    // One partition for each priority. A partition has at most 1,000 messages in flight.
    options = { ...options, partitions: 2, isLowPriority }
    const { bus } = await open()
    const gate = Promise.withResolvers<void>()
    const handled = new Set<string>()
    let started = 0
    await bus.subscribe({
      group: 'readers',
      topic: 'load',
      isLowPriority,
      handle: async (message) => {
        started++
        if (isLowPriority(message)) await gate.promise
        handled.add(message.id)
        return 'done'
      },
    })
    const backlog = Array.from({ length: 2500 }, (_, n) => createNumberedMessage(`unpaid-${n}`, 0))
    await bus.publish(
      'load',
      backlog.map((message) => ({ ...message, headers: { ...message.headers, unpaid: 'yes' } })),
    )
    await pollUntil(() => started >= 64, 'every handler for low-priority messages busy')
    const regular = keys.map((key) => createNumberedMessage(key, 0))
    await bus.publish('load', regular)
    await pollUntil(() => regular.every(({ id }) => handled.has(id)), 'the regular messages')
    expect(handled.size).toBe(regular.length)
    gate.resolve()
    await pollUntil(() => handled.size === backlog.length + regular.length, 'the low-priority messages')
  })

  it('is not delayed by a slow handler, and pauses only the partition whose queue is full', async () => {
    const { bus } = await open()
    const gate = Promise.withResolvers<void>()
    const slow = 3000
    const quickDone = new Map<string, number>()
    const inOrder: string[] = []
    await bus.subscribe({
      group: 'readers',
      topic: 'load',
      handle: async ({ id, key }) => {
        if (key === 'slow') {
          await gate.promise
          inOrder.push(id)
        } else quickDone.set(id, performance.now())
        return 'done'
      },
    })
    await bus.publish(
      'load',
      Array.from({ length: slow }, (_, n) => createNumberedMessage('slow', n)),
    )
    // The partition of the slow key is full now, and the other partitions must not wait for it.
    const waits: number[] = []
    const otherKeys = keys.filter((key) => key !== 'slow')
    for (let round = 0; round < 20; round++) {
      const started = performance.now()
      const batch = otherKeys.map((key) => createNumberedMessage(key, round))
      await bus.publish('load', batch)
      await pollUntil(
        () => batch.filter(({ id }) => quickDone.has(id)).length >= batch.length / 2,
        'the keys of other partitions',
      )
      waits.push(performance.now() - started)
    }
    gate.resolve()
    await pollUntil(() => inOrder.length === slow && quickDone.size === 20 * otherKeys.length, 'everything')
    expect(inOrder).toEqual(Array.from({ length: slow }, (_, n) => `slow/${n}`))
    const longest = Math.max(...waits.slice(1))
    console.log(`while one partition is full, a message of another takes at most ${Math.round(longest)} ms`)
    expect(longest).toBeLessThan(500)
  })
})
