import { Fault } from '@penstock/kernel/result.ts'
import { expect, test, vi } from 'vitest'
import { systemClock } from '../system/clock.ts'
import { type Entry, outbox, type Send } from './outbox.ts'

const entry = (partition: number, value: string): Entry => ({ partition, record: { key: 'k', value, partition } })
const opened = (send: Send, timeoutMs = 5000) => outbox(send, { clock: systemClock, timeoutMs, log: undefined })
const valuesOf = (entries: readonly Entry[]): string[] => entries.map(({ record }) => String(record.value))
const partitionsOf = (entries: readonly Entry[]): ReadonlySet<number> => new Set(entries.map(({ partition }) => partition))

test('what an answer does not name is sent again, and counts only then', async () => {
  const sent: string[][] = []
  const box = opened(async (entries) => {
    sent.push(valuesOf(entries))
    return sent.length === 1 ? new Set([0]) : partitionsOf(entries)
  })
  await box.put([entry(0, 'a'), entry(1, 'b'), entry(1, 'c')])
  expect(sent).toEqual([
    ['a', 'b', 'c'],
    ['b', 'c'],
  ])
})

test('a partition has one request at a time: what comes meanwhile waits and goes together, other partitions do not wait', async () => {
  const sent: string[][] = []
  const gate = Promise.withResolvers<void>()
  const box = opened(async (entries) => {
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

test('a fault is tried again until it is stored', async () => {
  let tries = 0
  const box = opened(async (entries) => {
    if (++tries < 3) throw new Error('no leader')
    return partitionsOf(entries)
  })
  await box.put([entry(0, 'a')])
  expect(tries).toBe(3)
})

test('what is never confirmed is a fault in time, and is not sent for ever', async () => {
  const send = vi.fn<Send>(async () => new Set())
  const box = opened(send, 120)
  await expect(box.put([entry(0, 'a')])).rejects.toThrow(Fault)
  await new Promise((resolve) => setTimeout(resolve, 400))
  const calls = send.mock.calls.length
  await new Promise((resolve) => setTimeout(resolve, 400))
  expect(send.mock.calls.length).toBe(calls)
})

test('a message that the brokers refuse for good fails alone', async () => {
  const box = opened(async (entries) => {
    if (valuesOf(entries).includes('huge'))
      throw Object.assign(new Error('too large'), { cause: Object.assign(new Error(), { type: 'MESSAGE_TOO_LARGE' }) })
    return partitionsOf(entries)
  })
  // The first keeps both partitions busy, so that the others go together.
  const before = box.put([entry(0, 'a'), entry(1, 'b')])
  const [refused, stored] = await Promise.allSettled([box.put([entry(0, 'huge')]), box.put([entry(1, 'c')]), before])
  expect(refused.status === 'rejected' && String(refused.reason)).toContain('refuses')
  expect(stored.status).toBe('fulfilled')
})

test('one request carries at most so much of a partition', async () => {
  const sent: number[] = []
  const box = opened(async (entries) => {
    sent.push(entries.length)
    return partitionsOf(entries)
  })
  const large = 'x'.repeat(200 * 1024)
  await box.put([entry(0, large), entry(0, large), entry(0, large), entry(1, 'small')])
  expect(sent).toEqual([3, 1])
})

test('closing tells those who wait', async () => {
  const box = opened(async () => new Set())
  const waiting = box.put([entry(0, 'a')])
  box.close()
  await expect(waiting).rejects.toThrow('closed')
  await expect(box.put([entry(0, 'b')])).rejects.toThrow('closed')
})
