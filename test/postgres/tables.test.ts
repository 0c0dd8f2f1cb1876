import { serverTime } from '@penstock/adapters/postgres/server-time.ts'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import { sqlContracts } from '@penstock/adapters/sql/sql.contract.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { aServer } from './server.ts'
import { emptyTables } from './stores.ts'

const server = aServer()

sqlContracts(
  'SQL on PostgreSQL',
  async () => {
    const url = await emptyTables(server())
    return { open: () => openPostgresViews({ url, schema: 'check' }), teardown: () => Promise.resolve() }
  },
  () => ({ now: serverTime, pass: (ms) => systemClock.sleep(ms) }),
)
