import { appendFunctionOf } from '@penstock/adapters/postgres/event-logs.ts'
import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { categoryOwners } from '@penstock/contracts/owners.ts'
import type { NewEvent } from '@penstock/ports/event-store.ts'
import { describe, expect, test } from 'vitest'
import { useMarketDatabase } from './market-database.ts'
import { sharedPostgres } from './server.ts'

const { queryAs, migrate, getServiceUrl } = useMarketDatabase(() => sharedPostgres.createDatabase())

const event = (): NewEvent => ({ id: crypto.randomUUID(), type: 'Happened', data: '{}', meta: '{}' })
const append = (service: string, log: string) =>
  queryAs(service, `select * from ${appendFunctionOf(log)}($1, $2, $3, $4, $5, $6, $7)`, [
    [`settlement-${crypto.randomUUID()}`],
    [0],
    [1],
    [crypto.randomUUID()],
    ['HoldSettled'],
    ['{}'],
    ['{}'],
  ])

describe('the rights at a separate event store', () => {
  const expectUnchangedRights = async () => {
    expect(await append('settlement', 'settlement')).toBe(1)
    expect(await queryAs('settlement', 'select from progress limit 0')).toBe(0)
    expect(await queryAs('gateway', 'select open_read_models()')).toBe(1)
  }

  test("are granted in the event store's database, and the database of the tables keeps its rights", async () => {
    const store = await sharedPostgres.createDatabase()
    await migrate({ PENSTOCK_EVENT_STORE: store })
    await expectUnchangedRights()
    const storeUrl = new URL(getServiceUrl('settlement'))
    storeUrl.pathname = new URL(store).pathname
    const settlement = await postgresEventStore({ logs: categoryOwners, url: storeUrl.href })
    const stream = `settlement-${crypto.randomUUID()}`
    expect(await settlement.append(stream, 'none', [event()])).toMatchObject({ outcome: 'appended' })
    await expect(settlement.append(`order-${crypto.randomUUID()}`, 'none', [event()])).rejects.toThrow(/permission denied/)
    await settlement.close()
  })

  test('are all kept if the event store is in the same database with another URL', async () => {
    const reconnectUrl = new URL(sharedPostgres.url(new URL(getServiceUrl('gateway')).pathname.slice(1)))
    reconnectUrl.searchParams.set('application_name', 'store')
    await migrate({ PENSTOCK_EVENT_STORE: reconnectUrl.href })
    await expectUnchangedRights()
  })
})
