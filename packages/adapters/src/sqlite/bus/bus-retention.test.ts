import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
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
  const clock = { now: () => now, monotonicMs: () => now, sleep: (ms: number) => pause(ms) }
  const open = () => sqliteBus(log, { clock, keepMs: 1000, maxAgeMs: 5000, sweepEveryMs: 5 })
  const countMessages = (): number => Number(log.db.prepare('select count(*) as count from messages').get()?.['count'])
  const messages = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ id: `m${n}`, key: 'a', headers: {}, body: '{}' }))

  async function until(condition: () => boolean): Promise<void> {
    for (let tries = 0; !condition(); tries++) {
      if (tries > 2000) throw new Error('the condition never became true')
      await pause(5)
    }
  }
  /** Waits long enough for several sweeps. */
  const sweeps = () => pause(60)

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
    await until(() => handled === 600)
    await sweeps()
    now += 2000
    await sweeps()
    expect(countMessages()).toBe(600)
    stuck.resolve('done')
    // The newest message stays, because the next message takes the number after it.
    await until(() => countMessages() === 1)
    await slow.close()
    await bus.close()
  })
  it('deletes messages beyond the maximum age even if no group has handled them, and continues their numbers', async () => {
    const bus = open()
    await bus.publish('orders', messages(3))
    now += 6000
    await until(() => countMessages() === 1)
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
    await until(() => seen.includes('next'))
    await bus.close()
  })
})
