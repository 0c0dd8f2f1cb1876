import { runProcess } from '@penstock/platforms/process.ts'
import { bind } from '@penstock/runtime/run.ts'
import { accountsService } from './service.ts'

await runProcess('accounts', () => [bind(accountsService, {})])
