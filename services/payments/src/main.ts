import { runService } from '@penstock/platforms/process.ts'
import { paymentsManifest } from './manifest.ts'

await runService(paymentsManifest)
