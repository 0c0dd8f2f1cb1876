import { serverTime } from '@penstock/adapters/postgres/server-time.ts'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import { sqlContracts } from '@penstock/adapters/sql/sql.contract.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { sharedPostgres } from './server.ts'
import { createEmptyDatabase } from './stores.ts'

sqlContracts(
  'SQL on PostgreSQL',
  async () => {
    const url = await createEmptyDatabase(sharedPostgres)
    return { open: () => openPostgresViews({ url, schema: 'check' }), teardown: () => Promise.resolve() }
  },
  () => ({ now: serverTime, pass: (ms) => systemClock.sleep(ms) }),
)
