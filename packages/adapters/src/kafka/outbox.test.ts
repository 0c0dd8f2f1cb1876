import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import { createVirtualSchedule } from '../deterministic/virtual-schedule.ts'
import { type OutboxEntry, createOutbox, type SendEntries } from './outbox.ts'

const entry = (partition: number, value: string): OutboxEntry => ({ partition, record: { key: 'k', value, partition } })
const chance = { random: (bytes: number) => new Uint8Array(bytes) }
/** An outbox whose time passes only when the test runs the schedule. */
function openOutbox(send: SendEntries, schedule = createVirtualSchedule('outbox')) {
  const box = createOutbox(send, { clock: schedule.clock, chance, timeoutMs: 5000, log: undefined })
  const passTime = (ms: number) => schedule.run({ untilMs: schedule.now() + ms })
  /** Puts entries, and lets the time pass for their retries. */
  const putWithRetries = async (entries: readonly OutboxEntry[]): Promise<void> => {
    const done = box.put(entries)
    await passTime(1000)
    await done
  }
  return { ...box, passTime, putWithRetries }
}
/** An outbox whose brokers do not store the broken partitions. It records the values of each request. */
function openOutboxWithBroken(broken: Set<number>, fails: 'by answer' | 'by error' = 'by answer') {
  const sent: string[][] = []
  const box = openOutbox(async (entries) => {
    sent.push(valuesOf(entries))
    const stored = partitionsOf(entries).difference(broken)
    if (fails === 'by error' && stored.size < partitionsOf(entries).size) throw new Error('no leader')
    return stored
  })
  return { ...box, sent }
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
  const results = Promise.allSettled([box.put([entry(0, 'huge')]), box.put([entry(1, 'c')]), before])
  await box.passTime(1000)
  const [refused, stored] = await results
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

for (const fails of ['by answer', 'by error'] as const) {
  test(`a partition stores later entries while another partition of its request fails ${fails}`, async () => {
    const broken = new Set([11])
    const box = openOutboxWithBroken(broken, fails)
    const shared = box.put([entry(0, 'a'), entry(11, 'x')])
    const healthy = box.put([entry(0, 'b')])
    await box.passTime(1000)
    await Promise.all([healthy, box.put([entry(0, 'c')])])
    expect(box.sent.filter((values) => !values.includes('x')).slice(-2)).toEqual([['b'], ['c']])
    broken.clear()
    await box.passTime(1000)
    await shared
  })
}

test('a partition that fails does not share requests until it stores entries again', async () => {
  const broken = new Set([11])
  const box = openOutboxWithBroken(broken)
  const first = box.put([entry(0, 'a'), entry(11, 'x')]).catch((error: unknown) => error)
  await box.passTime(6000)
  expect(await first).toEqual(expect.any(Fault))
  box.sent.length = 0
  broken.clear()
  await box.put([entry(0, 'b'), entry(11, 'y')])
  await box.put([entry(0, 'c'), entry(11, 'z')])
  expect(box.sent).toEqual([['b'], ['y'], ['c', 'z']])
})

test('partitions of one request share the next request once all are stored', async () => {
  const box = openOutboxWithBroken(new Set())
  await Promise.all([box.put([entry(0, 'a'), entry(1, 'b')]), box.put([entry(0, 'c'), entry(1, 'd')])])
  expect(box.sent).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ])
})

test('the retries of a partition keep its order, and it has one request at a time', async () => {
  const schedule = createVirtualSchedule('outbox')
  const requests: string[][] = []
  let [inFlight, mostInFlight] = [0, 0]
  const box = openOutbox(async (entries) => {
    const own = entries.filter(({ partition }) => partition === 1)
    if (own.length === 0) return partitionsOf(entries)
    requests.push(valuesOf(own))
    mostInFlight = Math.max(mostInFlight, ++inFlight)
    await schedule.clock.sleep(20)
    inFlight--
    // Each entry is stored at its third try.
    return requests.length % 3 === 0 ? partitionsOf(entries) : new Set([0])
  }, schedule)
  const puts = [box.put([entry(0, 'a'), entry(1, 'b')])]
  for (const value of ['c', 'd', 'e']) {
    await box.passTime(10)
    puts.push(box.put([entry(1, value), entry(0, value)]))
  }
  await box.passTime(3000)
  await Promise.all(puts)
  const later = ['c', 'd', 'e']
  expect(requests).toEqual([['b'], ['b'], ['b'], later, later, later])
  expect(mostInFlight).toBe(1)
})

test('the timeout of a stuck partition fails its entries only, and frees it for later entries', async () => {
  const broken = new Set([11])
  const box = openOutboxWithBroken(broken)
  const stuck = Promise.allSettled([box.put([entry(0, 'a'), entry(11, 'x')]), box.put([entry(11, 'y')])])
  await box.passTime(3000)
  const later = box.put([entry(11, 'z')])
  await box.put([entry(0, 'b')])
  await box.passTime(3000)
  expect((await stuck).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  broken.clear()
  box.sent.length = 0
  await box.passTime(1500)
  await later
  expect(box.sent).toEqual([['z']])
})

test('closing the outbox rejects the entries of a stuck partition and sends nothing more', async () => {
  const box = openOutboxWithBroken(new Set([11]))
  const stuck = Promise.allSettled([box.put([entry(0, 'a'), entry(11, 'x')]), box.put([entry(11, 'y')])])
  await box.passTime(1000)
  await box.put([entry(0, 'b')])
  box.sent.length = 0
  box.close()
  expect((await stuck).map((result) => result.status === 'rejected' && String(result.reason))).toEqual([
    expect.stringContaining('closed'),
    expect.stringContaining('closed'),
  ])
  await box.passTime(1000)
  expect(box.sent).toEqual([])
})
