import { runService } from '@penstock/platforms/process.ts'
import { accountsManifest } from './manifest.ts'

await runService(accountsManifest)
