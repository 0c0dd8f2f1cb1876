import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { registry } from '@penstock/runtime/metrics.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { numbered, until } from './load.ts'
import { brokers, busOptions, noKafka, openBus, ownPrefix, withoutBroker } from './servers.ts'

describe.skipIf(noKafka)('what a process shows of its groups', () => {
  const servers = brokers()
  let folder: string
  let prefix: string
  const closers: (() => Promise<unknown>)[] = []
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'penstock-shown-'))
    prefix = ownPrefix()
  })
  afterEach(async () => {
    await Promise.all(closers.splice(0).map((close) => close()))
    await rm(folder, { recursive: true })
  })
  async function open() {
    const opened = await openBus({ ...busOptions(servers(), prefix), reviewEveryMs: 500 }, join(folder, 'views.db'))
    closers.push(opened.close)
    return opened.bus
  }
  /** @returns undefined where it is not shown */
  async function shown(name: string): Promise<number | undefined> {
    const metric = await registry.getSingleMetric(`penstock_kafka_${name}`)?.get()
    return metric?.values.find(({ labels }) => labels['group'] === `${prefix}readers@load`)?.value
  }

  it('the partitions are those that the brokers grant it: none while they are away, at its start and later', async () => {
    let subscribed: Promise<unknown> | undefined
    await withoutBroker(servers(), async () => {
      const bus = await open()
      subscribed = bus.subscribe({ group: 'readers', topic: 'load', handle: async () => 'done' })
      await until(async () => (await shown('partitions')) === 0, 'a group that cannot be joined yet')
    })
    await subscribed
    await until(async () => (await shown('partitions')) === 4, 'all partitions')
    await withoutBroker(servers(), async () => {
      await until(async () => (await shown('partitions')) === 0, 'a member that is cut off')
    })
    await until(async () => (await shown('partitions')) === 4, 'all partitions again')
  })

  it('messages that nobody deals with are behind, and the group stands, whoever has them in hand', async () => {
    const bus = await open()
    const gate = Promise.withResolvers<void>()
    await bus.subscribe({ group: 'readers', topic: 'load', handle: async () => (await gate.promise, 'done') })
    await bus.publish('load', [numbered('a', 0), numbered('a', 1)])
    await until(async () => (await shown('behind_messages')) === 2, 'both messages')
    await bus.publish('load', [numbered('a', 2)])
    await until(async () => (await shown('behind_messages')) === 3, 'one that came later')
    expect(await shown('standing_seconds')).toBeGreaterThan(0.4)
    gate.resolve()
    await until(async () => (await shown('behind_messages')) === 0, 'nothing is behind')
    expect(await shown('standing_seconds')).toBe(0)
  })
})
