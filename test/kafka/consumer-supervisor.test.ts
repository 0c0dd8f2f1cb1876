import { createKafkaClient } from '@penstock/adapters/kafka/client.ts'
import { type ConsumerSupervisor, superviseConsumer } from '@penstock/adapters/kafka/consumer/consumer-supervisor.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { afterEach, describe, expect, it } from 'vitest'
import { createNumberedMessage, pollUntil } from './numbered-messages.ts'
import { useOwnBrokers, createBusOptions, isKafkaMissing, openKafkaBus, createPrefix, runWithoutBroker } from './servers.ts'

/** The clock runs 60 times as fast, so that a stall timeout of two minutes takes two seconds. */
const SPEED = 60

const fastClock: Clock = {
  now: () => systemClock.now() * SPEED,
  monotonicMs: () => systemClock.now() * SPEED,
  sleep: (ms, signal) => systemClock.sleep(ms / SPEED, signal),
}
const keys = Array.from({ length: 20 }, (_, n) => `key-${n}`)

describe.skipIf(isKafkaMissing)('consumers that were abandoned before they joined their group', () => {
  // The broker is not shared, because the test kills it.
  const servers = useOwnBrokers()
  const stop = new AbortController()
  let close = async (): Promise<void> => {}
  afterEach(async () => {
    stop.abort()
    await close()
  })

  it('take no message away from the current consumer', async () => {
    const options = createBusOptions(servers(), createPrefix())
    const opened = await openKafkaBus(options, ':memory:')
    close = opened.close
    await opened.bus.publish('load', [createNumberedMessage('first', 0)])
    const handledKeys = new Set<string>()
    let abandonedCount = 0
    const consumer = {
      eachBatch: async ({ batch: { messages } }: { batch: { messages: readonly { key: Buffer | null }[] } }) => {
        for (const { key } of messages) handledKeys.add(key?.toString() ?? '')
      },
      rebalanceListener: { beforeRebalance: async () => {}, afterRebalance: () => {} },
      onAssigned: () => {},
      beforeRestart: async () => {},
      topics: () => [{ topic: `${options.prefix}load`, partitions: options.partitions }],
      unreadOffsets: () => new Map<string, number>(),
      onMember: () => {},
      onEnded: () => void abandonedCount++,
    }
    const kafka = createKafkaClient({ brokers: servers().brokers, clientId: 'test' })
    const { sessionTimeoutMs, prefix } = options
    const groupOptions = { groupId: `${prefix}readers`, sessionTimeoutMs, stallTimeoutMs: 120_000 }
    let supervisor: ConsumerSupervisor | undefined
    await runWithoutBroker(servers(), async () => {
      supervisor = superviseConsumer(kafka, consumer, { ...groupOptions, clock: fastClock, log: undefined }, stop.signal)
      await pollUntil(() => abandonedCount >= 3, 'three consumers are abandoned')
    })
    const before = abandonedCount
    await pollUntil(() => handledKeys.has('first'), 'the message from before the start')
    await opened.bus.publish(
      'load',
      keys.map((key) => createNumberedMessage(key, 0)),
    )
    await pollUntil(() => keys.every((key) => handledKeys.has(key)), 'the messages of all partitions', 60_000)
    console.log(`${before} consumers were abandoned without a broker, and ${abandonedCount - before} afterwards`)
    stop.abort()
    await supervisor?.current()?.disconnect()
    expect(handledKeys.size).toBe(keys.length + 1)
  })
})
