import { runService } from '@penstock/platforms/process.ts'
import { settlementManifest } from './manifest.ts'

await runService(settlementManifest)
