import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import { sqlDeliveries } from '@penstock/adapters/sql/deliveries.ts'
import { expect, test } from 'vitest'
import { PERMISSION_DENIED, useMarketDatabase } from './market-database.ts'
import { sharedPostgres } from './server.ts'

const { getServiceUrl, queryAs } = useMarketDatabase(() => sharedPostgres.createDatabase())
const ENVIRONMENT = '00000000-0000-4000-8000-000000000001'
const page = { environmentId: ENVIRONMENT, limit: 10, offset: 0 }

test('payments records deliveries after the migration job, and the gateway only reads their log', async () => {
  const [payments, gateway] = ['payments', 'gateway'].map((service) =>
    openPostgresViews({ url: getServiceUrl(service), schema: 'check' }),
  )
  try {
    if (!payments || !gateway) throw new Error('a service has no connection')
    const writer = await sqlDeliveries(payments)
    const event = {
      id: 'an-event',
      envelopeId: 'webhook.test:an-event',
      environmentId: ENVIRONMENT,
      walletId: null,
      transactionId: null,
      sequence: 0,
      type: 'webhook.test',
      body: '{}',
      createdAt: 1,
    }
    const batch = { after: 'start', position: 1n, changes: [{ kind: 'event', event, deliveries: [] }] } as const
    expect(await writer.record(batch)).toBe(true)
    const reader = await sqlDeliveries(gateway)
    expect(await reader.findEvent('webhook.test:an-event')).toMatchObject({ id: 'an-event' })
    expect(await reader.listEvents({ ...page, endpointId: 'an-endpoint' })).toEqual({ totalCount: 0, events: [] })
    expect(await reader.listEvents(page)).toMatchObject({ totalCount: 1 })
    expect(await reader.listAttempts(['an-event'])).toEqual([])
  } finally {
    await payments?.close()
    await gateway?.close()
  }
  expect(await queryAs('gateway', 'delete from webhook_events')).toBe(PERMISSION_DENIED)
  expect(await queryAs('gateway', 'update webhook_endpoints set active = 1')).toBe(PERMISSION_DENIED)
  expect(await queryAs('accounts', 'select id from webhook_events')).toBe(PERMISSION_DENIED)
})
