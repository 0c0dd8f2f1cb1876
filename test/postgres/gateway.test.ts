/**
 * Runs the gateway's own tests with its read models in PostgreSQL. A query with SQL that only SQLite supports fails here.
 * Each call of `openViews` gets a separate schema in one database.
 */
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import type { Views } from '@penstock/ports/views.ts'
import { sql } from 'kysely'
import { afterAll, describe, vi } from 'vitest'
import { sharedPostgres } from './server.ts'

const url = await sharedPostgres.createDatabase()
const admin = openPostgresViews({ url, connections: 1 })
afterAll(() => admin.close())

let schemaCount = 0
vi.mock('@penstock/adapters/sqlite/views.ts', () => ({
  openViews(): Views {
    const schema = `stage_${++schemaCount}`
    const created = sql`create schema ${sql.id(schema)}`.execute(admin.db)
    const views = openPostgresViews({ url: `${url}?options=-c%20search_path%3D${schema}`, connections: 4 })
    return {
      ...views,
      async migrate(name, steps) {
        await created
        await views.migrate(name, steps)
      },
    }
  },
}))

const suites: Readonly<Record<string, () => Promise<unknown>>> = {
  callers: () => import('../../services/gateway/src/access.test.ts'),
  commands: () => import('../../services/gateway/src/commands/commands.test.ts'),
  http: () => import('../../services/gateway/src/http/app.test.ts'),
  lsps1: () => import('../../services/gateway/src/lsps1/lsps1.test.ts'),
  pages: () => import('../../services/gateway/src/pages/pages.test.ts'),
  streams: () => import('../../services/gateway/src/pages/page-streams.test.ts'),
  accounts: () => import('../../services/gateway/src/account/use-cases/accounts.test.ts'),
  buy: () => import('../../services/gateway/src/market/use-cases/buy-liquidity.test.ts'),
  'manual order': () => import('../../services/gateway/src/market/use-cases/create-manual-order.test.ts'),
  offers: () => import('../../services/gateway/src/market/use-cases/offers.test.ts'),
  selling: () => import('../../services/gateway/src/market/use-cases/selling.test.ts'),
  environments: () => import('../../services/gateway/src/payments/use-cases/environments.test.ts'),
  receives: () => import('../../services/gateway/src/payments/use-cases/receive.test.ts'),
  sends: () => import('../../services/gateway/src/payments/use-cases/send.test.ts'),
  'webhook events': () => import('../../services/gateway/src/payments/webhooks/events.test.ts'),
  'erasures of endpoints': () => import('../../services/gateway/src/payments/webhooks/erase-endpoints.test.ts'),
  erasures: () => import('../../services/gateway/src/payments/erase.test.ts'),
  transactions: () => import('../../services/gateway/src/payments/use-cases/transactions.test.ts'),
  views: () => import('../../services/gateway/src/market/views/orders.test.ts'),
  slots: () => import('../../services/gateway/src/market/purchase/order-quota.test.ts'),
}
for (const [name, load] of Object.entries(suites))
  describe(`the gateway's ${name} on PostgreSQL`, async () => {
    await load()
  })
