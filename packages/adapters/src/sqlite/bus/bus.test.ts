import { busContract } from '@penstock/ports/bus.contract.ts'
import { openSqliteBus } from './bus.fixture.ts'

busContract('SQLite', openSqliteBus)
