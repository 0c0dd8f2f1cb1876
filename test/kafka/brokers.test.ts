import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kafka, logLevel } from 'kafkajs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ledger, publishing, until } from './load.ts'
import { brokers, busOptions, noKafka, openBus, ownPrefix } from './servers.ts'

/** Many partitions to a batch: the client loses what it confirmed when some of them change their leader. */
const PARTITIONS = 12
const keys = Array.from({ length: 60 }, (_, n) => `key-${n}`)

describe.skipIf(noKafka)('three brokers', () => {
  const servers = brokers({ nodes: 3 })
  let folder: string
  const closers: (() => Promise<void>)[] = []
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'penstock-brokers-'))))
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
    await rm(folder, { recursive: true })
  })

  const admin = () => new Kafka({ brokers: [...servers().brokers], logLevel: logLevel.NOTHING }).admin()
  async function committed(prefix: string): Promise<number> {
    const client = admin()
    try {
      await client.connect()
      const [topic] = await client.fetchOffsets({ groupId: `${prefix}readers@load`, topics: [`${prefix}load`] })
      return topic?.partitions.reduce((sum, { offset }) => sum + Math.max(0, Number(offset)), 0) ?? 0
    } catch {
      // No broker of those that it asks knows the coordinator now.
      return 0
    } finally {
      await client.disconnect()
    }
  }

  it('lose no confirmed message and no order while each is killed in turn', async () => {
    const options = { ...busOptions(servers(), ownPrefix()), partitions: PARTITIONS, sessionTimeoutMs: 6000 }
    const file = join(folder, 'views.db')
    const seen = ledger()
    const members = [await openBus(options, file), await openBus(options, file), await openBus(options, file)]
    closers.push(...members.map(({ close }) => close))
    const [publisher, ...consumers] = members.map(({ bus }) => bus)
    if (!publisher) throw new Error('three were opened')
    for (const bus of consumers)
      await bus.subscribe({
        group: 'readers',
        topic: 'load',
        handle: async (message) => {
          await seen.see(message)
          return 'done'
        },
      })
    const load = publishing(publisher, 'load', keys, 100)
    await until(() => seen.total() > 1000, 'the first messages')
    const warnings: string[] = []
    const note = ({ name }: Error): void => void warnings.push(name)
    process.on('warning', note)
    const rests: number[] = []
    for (const node of servers().nodes) {
      const before = load.total()
      await node.kill()
      rests.push(Math.round(await until(() => load.total() > before + 1000, `messages while node ${node.id} is dead`, 60_000)))
      // One of the three coordinates the group: offsets go on to be committed without it.
      const reached = seen.total()
      await until(async () => (await committed(options.prefix)) > reached, `offsets while node ${node.id} is dead`, 60_000)
      await node.start()
      const back = load.total()
      await until(() => load.total() > back + 1000, `messages after node ${node.id} came back`, 60_000)
    }
    await load.stop()
    process.off('warning', note)
    const lag = await until(
      () => keys.every((key) => seen.handled(key) >= (load.acknowledged.get(key) ?? 0)),
      'all that was confirmed',
    )
    console.log(
      `${load.total()} confirmed, ${load.faults()} publishes in doubt, ${seen.repeats()} repeats; a kill rested publishing ${rests.join(', ')} ms; the rest came in ${Math.round(lag)} ms`,
    )
    expect(seen.breaches).toEqual([])
    expect(warnings).toEqual([])
  })
})
