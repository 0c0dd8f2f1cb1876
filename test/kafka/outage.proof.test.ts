import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createOrderChecker, createNumberedMessage, pollUntil } from './numbered-messages.ts'
import { type TestGroupMember, startGroupMember } from './members.ts'
import { useOwnBrokers, createBusOptions, isKafkaMissing, openKafkaBus, createPrefix, runWithoutBroker } from './servers.ts'

const keys = Array.from({ length: 20 }, (_, n) => `key-${n}`)

describe.skipIf(isKafkaMissing)('one broker', () => {
  const servers = useOwnBrokers()
  let folder: string
  let close = async (): Promise<void> => {}
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'penstock-outage-'))))
  afterEach(async () => {
    await close()
    await rm(folder, { recursive: true })
  })
  async function open() {
    const options = createBusOptions(servers(), createPrefix())
    const file = join(folder, 'views.db')
    const opened = await openKafkaBus(options, file)
    close = opened.close
    return { bus: opened.bus, options, file }
  }

  it('accepts the waiting messages and serves its consumers after an outage of 12 s', async () => {
    const { bus } = await open()
    const checker = createOrderChecker()
    await bus.subscribe({ group: 'readers', topic: 'load', handle: async (message) => (await checker.handle(message), 'done') })
    await bus.publish(
      'load',
      keys.map((key) => createNumberedMessage(key, 0)),
    )
    await pollUntil(() => checker.total() === keys.length, 'the first messages')
    let published: Promise<void> | undefined
    await runWithoutBroker(servers(), async () => {
      published = bus.publish(
        'load',
        keys.map((key) => createNumberedMessage(key, 1)),
      )
      // Longer than 10 s, after which kafkajs stops its retries by default.
      await new Promise((resolve) => setTimeout(resolve, 12_000))
    })
    const waitedMs = await pollUntil(() => checker.total() === 2 * keys.length, 'the messages that waited')
    await published
    console.log(`messages arrived ${Math.round(waitedMs)} ms after the broker was ready again`)
    expect(checker.breaches).toEqual([])
    expect(waitedMs).toBeLessThan(10_000)
  })

  it('makes a publish fail in time while it is down, and accepts the message when it is up again', async () => {
    const options = { ...createBusOptions(servers(), createPrefix()), publishTimeoutMs: 1000 }
    const opened = await openKafkaBus(options, join(folder, 'views.db'))
    close = opened.close
    // The first publish creates the topic and finds its leaders, which may take longer than the timeout.
    const isPublished = (): Promise<boolean> =>
      opened.bus.publish('load', [createNumberedMessage('a', 0)]).then(
        () => true,
        () => false,
      )
    await pollUntil(isPublished, 'the first message')
    await runWithoutBroker(servers(), () =>
      expect(opened.bus.publish('load', [createNumberedMessage('a', 1)])).rejects.toThrow('in time'),
    )
    const checker = createOrderChecker()
    await opened.bus.subscribe({
      group: 'readers',
      topic: 'load',
      handle: async (message) => (await checker.handle(message), 'done'),
    })
    await pollUntil(async () => {
      await opened.bus.publish('load', [createNumberedMessage('a', 1)]).catch(() => {})
      return checker.handled('a') === 2
    }, 'the message, on a later try')
  })

  it('may start after the processes that need it', async () => {
    const { bus, options, file } = await open()
    await bus.publish('load', [createNumberedMessage('a', 0)])
    let member: TestGroupMember | undefined
    await runWithoutBroker(servers(), async () => {
      member = startGroupMember(options, file, 'load')
      // Long enough for several failed connection attempts.
      await new Promise((resolve) => setTimeout(resolve, 2000))
    })
    try {
      await pollUntil(() => (member?.handledIds.length ?? 0) > 0, 'the message at the process that waited')
    } finally {
      expect(await member?.end('SIGTERM')).toBe(0)
    }
  })

  it('does not keep an idle process busy', async () => {
    const { bus } = await open()
    const warnings: string[] = []
    const recordWarning = ({ name }: Error): void => void warnings.push(name)
    process.on('warning', recordWarning)
    const checker = createOrderChecker()
    await bus.subscribe({ group: 'readers', topic: 'load', handle: async (message) => (await checker.handle(message), 'done') })
    await bus.publish('load', [createNumberedMessage('a', 0)])
    await pollUntil(() => checker.total() === 1, 'the message')
    const originalSetTimeout = globalThis.setTimeout
    let timerCount = 0
    const counting = (...args: Parameters<typeof setTimeout>) => {
      timerCount++
      return originalSetTimeout(...args)
    }
    globalThis.setTimeout = Object.assign(counting, originalSetTimeout)
    await new Promise((resolve) => originalSetTimeout(resolve, 3000))
    globalThis.setTimeout = originalSetTimeout
    process.off('warning', recordWarning)
    console.log(`${Math.round(timerCount / 3)} timers per second`)
    // Without our patch, kafkajs sets one timer per millisecond and connection.
    expect(timerCount).toBeLessThan(300)
    expect(warnings).toEqual([])
  })
})
