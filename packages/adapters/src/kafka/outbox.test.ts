import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import { createVirtualSchedule } from '../deterministic/virtual-schedule.ts'
import { type OutboxEntry, createOutbox, type SendEntries } from './outbox.ts'

const entry = (partition: number, value: string): OutboxEntry => ({ partition, record: { key: 'k', value, partition } })
const chance = { random: (bytes: number) => new Uint8Array(bytes) }
/** An outbox whose time passes only when the test runs the schedule. */
function openOutbox(send: SendEntries, schedule = createVirtualSchedule('outbox')) {
  const box = createOutbox(send, { clock: schedule.clock, chance, timeoutMs: 5000, log: undefined })
  /** Puts entries, and lets the time pass for their retries. */
  const putWithRetries = async (entries: readonly OutboxEntry[]): Promise<void> => {
    const done = box.put(entries)
    await schedule.run({ untilMs: schedule.now() + 1000 })
    await done
  }
  return { ...box, putWithRetries }
}
const valuesOf = (entries: readonly OutboxEntry[]): string[] => entries.map(({ record }) => String(record.value))
const partitionsOf = (entries: readonly OutboxEntry[]): ReadonlySet<number> => new Set(entries.map(({ partition }) => partition))

test('entries of a partition that the answer lacks are sent again before they count as stored', async () => {
  const sent: string[][] = []
  const box = openOutbox(async (entries) => {
    sent.push(valuesOf(entries))
    return sent.length === 1 ? new Set([0]) : partitionsOf(entries)
  })
  await box.putWithRetries([entry(0, 'a'), entry(1, 'b'), entry(1, 'c')])
  expect(sent).toEqual([
    ['a', 'b', 'c'],
    ['b', 'c'],
  ])
})

test('entries that arrive during a request of their partition share the next one, and other partitions do not wait', async () => {
  const sent: string[][] = []
  const gate = Promise.withResolvers<void>()
  const box = openOutbox(async (entries) => {
    sent.push(valuesOf(entries))
    if (sent.length === 1) await gate.promise
    return partitionsOf(entries)
  })
  const first = box.put([entry(0, 'a')])
  const later = Promise.all([box.put([entry(0, 'b')]), box.put([entry(0, 'c')])])
  await box.put([entry(1, 'other')])
  expect(sent).toEqual([['a'], ['other']])
  gate.resolve()
  await Promise.all([first, later])
  expect(sent).toEqual([['a'], ['other'], ['b', 'c']])
})

test('entries are sent again after an error until they are stored', async () => {
  let tries = 0
  const box = openOutbox(async (entries) => {
    if (++tries < 3) throw new Error('no leader')
    return partitionsOf(entries)
  })
  await box.putWithRetries([entry(0, 'a')])
  expect(tries).toBe(3)
})

test('an entry without confirmation fails with a Fault at the timeout and is not sent again', async () => {
  const schedule = createVirtualSchedule('outbox')
  const startedAt = schedule.now()
  const sentAt: number[] = []
  const box = openOutbox(async () => {
    sentAt.push(schedule.now() - startedAt)
    return new Set()
  }, schedule)
  const failed = box.put([entry(0, 'a')]).catch((error: unknown) => [error, schedule.now() - startedAt])
  expect(await schedule.run()).toBe('idle')
  expect(await failed).toEqual([expect.any(Fault), 5000])
  expect(sentAt.length).toBeGreaterThan(3)
  expect(Math.max(...sentAt)).toBeLessThan(5000)
})

test('a message that the brokers refuse fails without failing other messages', async () => {
  const box = openOutbox(async (entries) => {
    if (valuesOf(entries).includes('huge'))
      throw Object.assign(new Error('too large'), { cause: Object.assign(new Error(), { type: 'MESSAGE_TOO_LARGE' }) })
    return partitionsOf(entries)
  })
  // The first request keeps both partitions busy, so that the next entries share a request.
  const before = box.put([entry(0, 'a'), entry(1, 'b')])
  const [refused, stored] = await Promise.allSettled([box.put([entry(0, 'huge')]), box.put([entry(1, 'c')]), before])
  expect(refused.status === 'rejected' && String(refused.reason)).toContain('refuses')
  expect(stored.status).toBe('fulfilled')
})

test('a request contains at most 512 KiB for one partition', async () => {
  const sent: number[] = []
  const box = openOutbox(async (entries) => {
    sent.push(entries.length)
    return partitionsOf(entries)
  })
  const large = 'x'.repeat(200 * 1024)
  await box.put([entry(0, large), entry(0, large), entry(0, large), entry(1, 'small')])
  expect(sent).toEqual([3, 1])
})

test('closing the outbox rejects waiting and later entries', async () => {
  const box = openOutbox(async () => new Set())
  const waiting = box.put([entry(0, 'a')])
  box.close()
  await expect(waiting).rejects.toThrow('closed')
  await expect(box.put([entry(0, 'b')])).rejects.toThrow('closed')
})
