import { kafkaClient } from '@penstock/adapters/kafka/client.ts'
import { lives } from '@penstock/adapters/kafka/lives.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { afterEach, describe, expect, it } from 'vitest'
import { numbered, until } from './load.ts'
import { brokers, busOptions, noKafka, openBus, ownPrefix, withoutBroker } from './servers.ts'

/** Two minutes of silence take two seconds. */
const FASTER = 60

const fast: Clock = {
  now: () => systemClock.now() * FASTER,
  monotonicMs: () => systemClock.now() * FASTER,
  sleep: (ms, signal) => systemClock.sleep(ms / FASTER, signal),
}
const keys = Array.from({ length: 20 }, (_, n) => `key-${n}`)

describe.skipIf(noKafka)('clients of a group that were given up before they were members', () => {
  const servers = brokers()
  const stop = new AbortController()
  let close = async (): Promise<void> => {}
  afterEach(async () => {
    stop.abort()
    await close()
  })

  it('keep nothing from the one that lives', async () => {
    const options = busOptions(servers(), ownPrefix())
    const opened = await openBus(options, ':memory:')
    close = opened.close
    await opened.bus.publish('load', [numbered('first', 0)])
    const seen = new Set<string>()
    let givenUp = 0
    const life = {
      eachBatch: async ({ batch: { messages } }: { batch: { messages: readonly { key: Buffer | null }[] } }) => {
        for (const { key } of messages) seen.add(key?.toString() ?? '')
      },
      handover: { before: async () => {}, after: () => {} },
      assigned: () => {},
      heard: () => {},
      ended: () => void givenUp++,
    }
    const kafka = kafkaClient({ brokers: servers().brokers, clientId: 'test' })
    const { partitions, sessionTimeoutMs, prefix } = options
    const named = { groupId: `${prefix}readers@load`, topic: `${prefix}load`, partitions, sessionTimeoutMs }
    let alive: ReturnType<typeof lives> = () => undefined
    await withoutBroker(servers(), async () => {
      alive = lives(kafka, life, { ...named, clock: fast, log: undefined }, stop.signal)
      await until(() => givenUp >= 3, 'three are given up')
    })
    const before = givenUp
    await until(() => seen.has('first'), 'what was there')
    await opened.bus.publish(
      'load',
      keys.map((key) => numbered(key, 0)),
    )
    await until(() => keys.every((key) => seen.has(key)), 'the messages of all partitions', 60_000)
    console.log(`${before} were given up while there was no broker, ${givenUp - before} afterwards`)
    stop.abort()
    await alive()?.disconnect()
    expect(seen.size).toBe(keys.length + 1)
  })
})
