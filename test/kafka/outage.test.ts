import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ledger, numbered, until } from './load.ts'
import { type Member, startMember } from './members.ts'
import { brokers, busOptions, noKafka, openBus, ownPrefix, withoutBroker } from './servers.ts'

const keys = Array.from({ length: 20 }, (_, n) => `key-${n}`)

describe.skipIf(noKafka)('one broker', () => {
  const servers = brokers()
  let folder: string
  let close = async (): Promise<void> => {}
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'penstock-outage-'))))
  afterEach(async () => {
    await close()
    await rm(folder, { recursive: true })
  })
  async function open() {
    const options = busOptions(servers(), ownPrefix())
    const file = join(folder, 'views.db')
    const opened = await openBus(options, file)
    close = opened.close
    return { bus: opened.bus, options, file }
  }

  it('comes back after a long rest: what waited is published, and consumers go on', async () => {
    const { bus } = await open()
    const seen = ledger()
    await bus.subscribe({ group: 'readers', topic: 'load', handle: async (message) => (await seen.see(message), 'done') })
    await bus.publish(
      'load',
      keys.map((key) => numbered(key, 0)),
    )
    await until(() => seen.total() === keys.length, 'the first messages')
    let published: Promise<void> | undefined
    await withoutBroker(servers(), async () => {
      published = bus.publish(
        'load',
        keys.map((key) => numbered(key, 1)),
      )
      // Longer than the ten seconds after which the client gives up where nobody tells it otherwise.
      await new Promise((resolve) => setTimeout(resolve, 12_000))
    })
    const waitedMs = await until(() => seen.total() === 2 * keys.length, 'the messages that waited')
    await published
    console.log(`on its way again ${Math.round(waitedMs)} ms after the broker was ready`)
    expect(seen.breaches).toEqual([])
    expect(waitedMs).toBeLessThan(10_000)
  })

  it('says in time that a message may not be stored, and is not stopped by it', async () => {
    const options = { ...busOptions(servers(), ownPrefix()), publishTimeoutMs: 1000 }
    const opened = await openBus(options, join(folder, 'views.db'))
    close = opened.close
    // It has the topic made, and its leaders found: that may take longer than it may take later.
    const isPublished = (): Promise<boolean> =>
      opened.bus.publish('load', [numbered('a', 0)]).then(
        () => true,
        () => false,
      )
    await until(isPublished, 'the first message')
    await withoutBroker(servers(), () => expect(opened.bus.publish('load', [numbered('a', 1)])).rejects.toThrow('in time'))
    const seen = ledger()
    await opened.bus.subscribe({ group: 'readers', topic: 'load', handle: async (message) => (await seen.see(message), 'done') })
    await until(async () => {
      await opened.bus.publish('load', [numbered('a', 1)]).catch(() => {})
      return seen.handled('a') === 2
    }, 'the message, on a later try')
  })

  it('is waited for at start', async () => {
    const { bus, options, file } = await open()
    await bus.publish('load', [numbered('a', 0)])
    let member: Member | undefined
    await withoutBroker(servers(), async () => {
      member = startMember(options, file, 'load')
      // Long enough that it has tried in vain.
      await new Promise((resolve) => setTimeout(resolve, 2000))
    })
    try {
      await until(() => (member?.handled.length ?? 0) > 0, 'the message at the process that waited')
    } finally {
      expect(await member?.end('SIGTERM')).toBe(0)
    }
  })

  it('does not keep an idle process busy', async () => {
    const { bus } = await open()
    const warnings: string[] = []
    const note = ({ name }: Error): void => void warnings.push(name)
    process.on('warning', note)
    const seen = ledger()
    await bus.subscribe({ group: 'readers', topic: 'load', handle: async (message) => (await seen.see(message), 'done') })
    await bus.publish('load', [numbered('a', 0)])
    await until(() => seen.total() === 1, 'the message')
    const timers = globalThis.setTimeout
    let set = 0
    const counting = (...args: Parameters<typeof setTimeout>) => {
      set++
      return timers(...args)
    }
    globalThis.setTimeout = Object.assign(counting, timers)
    await new Promise((resolve) => timers(resolve, 3000))
    globalThis.setTimeout = timers
    process.off('warning', note)
    console.log(`${Math.round(set / 3)} timers a second`)
    // One every millisecond and connection without the mend.
    expect(set).toBeLessThan(300)
    expect(warnings).toEqual([])
  })
})
