import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { NewEvent } from '@penstock/ports/event-store.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sqliteBus } from './bus.ts'
import { sqliteEventStore } from './event-store.ts'
import { type MarketLog, openLog } from './log.ts'

describe('the log', () => {
  let folder: string
  let path: string
  let log: MarketLog
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'penstock-log-'))
    path = join(folder, 'market.db')
    log = openLog(path, { pollMs: 5 })
  })
  afterEach(async () => {
    await log.close()
    await rm(folder, { recursive: true })
  })
  const event = (id: string, size = 1): NewEvent => ({ id, type: 'Happened', data: JSON.stringify('x'.repeat(size)), meta: '{}' })

  it('commits what comes in one turn together, a publish beside an append', async () => {
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
  it('takes everything of a group back where one part of it fails, and forgets what it remembered', async () => {
    const store = sqliteEventStore(log)
    await store.append('order-1', 'none', [event('e1')])
    const broken = log.write(() => {
      throw new Error('the disk is full')
    })
    const beside = store.append('order-1', 0, [event('e2')])
    await expect(broken).rejects.toThrow(Fault)
    await expect(beside).rejects.toThrow(Fault)
    expect(await store.read('order-1')).toHaveLength(1)
    expect(await store.append('order-1', 0, [event('e2')])).toMatchObject({ outcome: 'appended', revision: 1, position: 2n })
  })
  it('lets a bug fail alone', async () => {
    const bug = log.write(() => {
      throw new Bug('nobody may do this')
    })
    const fine = log.write(() => 'done')
    await expect(bug).rejects.toThrow(Bug)
    expect(await fine).toBe('done')
  })
  it('is read beside its writer, and refuses to be written there', async () => {
    const store = sqliteEventStore(log)
    await store.append('order-1', 'none', [event('e1')])
    const beside = openLog(path, { readOnly: true })
    const audit = sqliteEventStore(beside)
    expect(await audit.readAll('start', 10)).toEqual(await store.readAll('start', 10))
    await expect(audit.append('order-1', 0, [event('e2')])).rejects.toThrow(Fault)
    await beside.close()
  })
  it('copies the write-ahead log when nobody writes, and starts it over', async () => {
    const store = sqliteEventStore(log)
    const look = log.db.prepare('pragma wal_checkpoint(noop)')
    const frames = (): number => Number(look.get()?.['log'])
    let rounds = 0
    for (let most = 0; frames() >= most; rounds++) {
      expect(rounds, 'rounds until the log started over').toBeLessThan(200)
      most = frames()
      const expected = rounds === 0 ? 'none' : rounds - 1
      await Promise.all(
        Array.from({ length: 20 }, (_, n) => store.append(`order-${n}`, expected, [event(`${rounds}-${n}`, 50_000)])),
      )
      await pause(30)
    }
    await log.close()
    log = openLog(path)
    const ids = (await sqliteEventStore(log).read('order-7')).map(({ id }) => id)
    expect(ids).toEqual(Array.from({ length: rounds }, (_, round) => `${round}-7`))
  })
})
