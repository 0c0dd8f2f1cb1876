import { runService } from '@penstock/platforms/process.ts'
import { orderManifest } from './manifest.ts'

await runService(orderManifest)
