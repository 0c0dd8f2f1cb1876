import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sqliteBus } from './bus.ts'
import { type MarketLog, openMarketLog } from '../market-log.ts'

describe('retention', () => {
  let folder: string
  let log: MarketLog
  let now = 1_790_000_000_000
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'penstock-retention-'))
    log = openMarketLog(join(folder, 'market.db'))
  })
  afterEach(async () => {
    await log.close()
    await rm(folder, { recursive: true })
  })
  let readings = 0
  const readClock = (): number => (readings++, now)
  const clock = { now: readClock, monotonicMs: () => now, sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) }
  const open = () => sqliteBus(log, { clock, keepMs: 1000, maxAgeMs: 5000, sweepEveryMs: 5 })
  const countMessages = (): number => Number(log.db.prepare('select count(*) as count from messages').get()?.['count'])
  const messages = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ id: `m${n}`, key: 'a', headers: {}, body: '{}' }))

  /** Waits for several sweeps. Each of them reads the clock twice. */
  const waitForSweeps = async (): Promise<void> => {
    const before = readings
    await waitUntil('several sweeps', () => readings >= before + 8)
  }

  it('keeps recent messages, and messages that a group has not handled', async () => {
    const bus = open()
    let handled = 0
    const done = async () => {
      handled++
      return 'done' as const
    }
    const stuck = Promise.withResolvers<'done'>()
    await bus.subscribe({ group: 'quick', topic: 'orders', handle: done })
    const slow = await bus.subscribe({ group: 'slow', topic: 'orders', handle: () => stuck.promise })
    await bus.publish('orders', messages(600))
    await waitUntil('all are handled', () => handled === 600)
    await waitForSweeps()
    now += 2000
    await waitForSweeps()
    expect(countMessages()).toBe(600)
    stuck.resolve('done')
    // The newest message stays, because the next message takes the number after it.
    await waitUntil('one message is left', () => countMessages() === 1)
    await slow.close()
    await bus.close()
  })
  it('deletes messages beyond the maximum age even if no group has handled them, and continues their numbers', async () => {
    const bus = open()
    await bus.publish('orders', messages(3))
    now += 6000
    await waitUntil('one message is left', () => countMessages() === 1)
    const seen: string[] = []
    await bus.publish('orders', [{ id: 'next', key: 'b', headers: {}, body: '{}' }])
    await bus.subscribe({
      group: 'late',
      topic: 'orders',
      handle: async ({ id }) => {
        seen.push(id)
        return 'done'
      },
    })
    await waitUntil('the next message is handled', () => seen.includes('next'))
    await bus.close()
  })
})
