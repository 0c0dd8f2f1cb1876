import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { NewEvent } from '@penstock/ports/event-store.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sqliteBus } from './bus/bus.ts'
import { sqliteEventStore } from './event-store.ts'
import { type MarketLog, openMarketLog } from './market-log.ts'

describe('the market log', () => {
  let folder: string
  let path: string
  let log: MarketLog
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'penstock-log-'))
    path = join(folder, 'market.db')
    log = openMarketLog(path, { pollMs: 5 })
  })
  afterEach(async () => {
    await log.close()
    await rm(folder, { recursive: true })
  })
  const event = (id: string, size = 1): NewEvent => ({ id, type: 'Happened', data: JSON.stringify('x'.repeat(size)), meta: '{}' })

  it('commits all appends and publishes of one event-loop turn together', async () => {
    const [store, bus] = [sqliteEventStore(log), sqliteBus(log)]
    let commits = 0
    log.onCommit(() => commits++)
    await Promise.all([
      ...Array.from({ length: 50 }, (_, n) => store.append(`order-${n}`, 'none', [event(`e${n}`)])),
      bus.publish('orders', [{ id: 'm1', key: 'a', headers: {}, body: '{}' }]),
    ])
    expect(commits).toBe(1)
    await bus.close()
  })
  it('rolls back the whole group and clears the caches when one action of the group fails', async () => {
    const store = sqliteEventStore(log)
    await store.append('order-1', 'none', [event('e1')])
    const broken = log.write(() => {
      throw new Error('the disk is full')
    })
    const concurrent = store.append('order-1', 0, [event('e2')])
    await expect(broken).rejects.toThrow(Fault)
    await expect(concurrent).rejects.toThrow(Fault)
    expect(await store.read('order-1')).toHaveLength(1)
    expect(await store.append('order-1', 0, [event('e2')])).toMatchObject({ outcome: 'appended', revision: 1, position: 2n })
  })
  it('rejects only the action that throws a Bug', async () => {
    const bug = log.write(() => {
      throw new Bug('nobody may do this')
    })
    const fine = log.write(() => 'done')
    await expect(bug).rejects.toThrow(Bug)
    expect(await fine).toBe('done')
  })
  it('can be opened for reading while a writer has it open, and then refuses appends', async () => {
    const store = sqliteEventStore(log)
    await store.append('order-1', 'none', [event('e1')])
    const readOnlyLog = openMarketLog(path, { readOnly: true })
    const audit = sqliteEventStore(readOnlyLog)
    expect(await audit.readAll('start', 10)).toEqual(await store.readAll('start', 10))
    await expect(audit.append('order-1', 0, [event('e2')])).rejects.toThrow(Fault)
    await readOnlyLog.close()
  })
  it('copies the write-ahead log between writes, and then restarts it at its beginning', async () => {
    const store = sqliteEventStore(log)
    const walStatus = log.db.prepare('pragma wal_checkpoint(noop)')
    const frames = (): number => Number(walStatus.get()?.['log'])
    const isCopied = (): boolean => {
      const status = walStatus.get()
      return status?.['log'] === status?.['checkpointed']
    }
    let rounds = 0
    for (let lastFrames = 0; frames() >= lastFrames; rounds++) {
      expect(rounds, 'rounds until the log restarted').toBeLessThan(10)
      lastFrames = frames()
      const expected = rounds === 0 ? 'none' : rounds - 1
      await Promise.all(
        Array.from({ length: 20 }, (_, n) => store.append(`order-${n}`, expected, [event(`${rounds}-${n}`, 50_000)])),
      )
      await waitUntil('the log is copied', isCopied)
    }
    await log.close()
    log = openMarketLog(path)
    const ids = (await sqliteEventStore(log).read('order-7')).map(({ id }) => id)
    expect(ids).toEqual(Array.from({ length: rounds }, (_, round) => `${round}-7`))
  })
})
