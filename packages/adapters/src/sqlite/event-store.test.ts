import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventStoreContract } from '@penstock/ports/event-store.contract.ts'
import { expect, it } from 'vitest'
import { openSqliteEventStore } from './event-store.fixture.ts'
import { sqliteEventStore } from './event-store.ts'
import { openMarketLog } from './market-log.ts'

eventStoreContract('SQLite', openSqliteEventStore)

it('reads an event that another connection has just appended to a cached stream', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-log-'))
  const logs = [1, 2].map(() => openMarketLog(join(folder, 'market.db'), { pollMs: 3_600_000 }))
  const [ours, theirs] = logs.map(sqliteEventStore)
  const event = () => ({ id: randomUUID(), type: 'Recorded', data: '{}', meta: '{}' })
  try {
    await ours!.append('order-1', 'none', [event()])
    expect(await ours!.read('order-1', 1)).toEqual([])
    await theirs!.append('order-1', 0, [event()])
    expect(await ours!.read('order-1', 1)).toMatchObject([{ revision: 1 }])
  } finally {
    for (const log of logs) await log.close()
    await rm(folder, { recursive: true })
  }
})
