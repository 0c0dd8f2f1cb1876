import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { registry } from '@penstock/runtime/observability/metrics.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createNumberedMessage, pollUntil } from './numbered-messages.ts'
import { useOwnBrokers, createBusOptions, isKafkaMissing, openKafkaBus, createPrefix, runWithoutBroker } from './servers.ts'

describe.skipIf(isKafkaMissing)('the metrics of a consumer group', () => {
  // The broker is not shared, because a test kills it.
  const servers = useOwnBrokers()
  let folder: string
  let prefix: string
  const closers: (() => Promise<unknown>)[] = []
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'penstock-shown-'))
    prefix = createPrefix()
  })
  afterEach(async () => {
    await Promise.all(closers.splice(0).map((close) => close()))
    await rm(folder, { recursive: true })
  })
  async function open() {
    const opened = await openKafkaBus({ ...createBusOptions(servers(), prefix), topicPollMs: 500 }, join(folder, 'views.db'))
    closers.push(opened.close)
    return opened.bus
  }
  /** Reads a metric of the group. @returns undefined if the metric has no value for this group */
  async function readMetric(name: string): Promise<number | undefined> {
    const metric = await registry.getSingleMetric(`penstock_kafka_${name}`)?.get()
    return metric?.values.find(({ labels }) => labels['group'] === `${prefix}readers`)?.value
  }

  it('count the assigned partitions, and no partition while the brokers are unreachable, at the start and later', async () => {
    let subscribed: Promise<unknown> | undefined
    await runWithoutBroker(servers(), async () => {
      const bus = await open()
      subscribed = bus.subscribe({ group: 'readers', topic: 'load', handle: async () => 'done' })
      await pollUntil(async () => (await readMetric('partitions')) === 0, 'a group that cannot be joined yet')
    })
    await subscribed
    await pollUntil(async () => (await readMetric('partitions')) === 4, 'all partitions')
    await runWithoutBroker(servers(), async () => {
      await pollUntil(async () => (await readMetric('partitions')) === 0, 'a member that is cut off')
    })
    await pollUntil(async () => (await readMetric('partitions')) === 4, 'all partitions again')
  })

  it('report lag and a stalled group until the handler has finished', async () => {
    const bus = await open()
    const gate = Promise.withResolvers<void>()
    await bus.subscribe({ group: 'readers', topic: 'load', handle: async () => (await gate.promise, 'done') })
    await bus.publish('load', [createNumberedMessage('a', 0), createNumberedMessage('a', 1)])
    await pollUntil(async () => (await readMetric('behind_messages')) === 2, 'both messages')
    await bus.publish('load', [createNumberedMessage('a', 2)])
    await pollUntil(async () => (await readMetric('behind_messages')) === 3, 'a later message')
    expect(await readMetric('standing_seconds')).toBeGreaterThan(0.4)
    gate.resolve()
    await pollUntil(async () => (await readMetric('behind_messages')) === 0, 'no message is behind')
    expect(await readMetric('standing_seconds')).toBe(0)
  })
})
