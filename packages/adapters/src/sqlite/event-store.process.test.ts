import { eventStoreContract } from '@penstock/ports/event-store.contract.ts'
import { openSqliteEventStore } from './event-store.fixture.ts'

eventStoreContract('SQLite', openSqliteEventStore, { processes: 'only' })
