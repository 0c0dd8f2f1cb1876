import { runService } from '@penstock/platforms/process.ts'
import { quoteManifest } from './manifest.ts'

await runService(quoteManifest)
