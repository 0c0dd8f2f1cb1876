import { runService } from '@penstock/platforms/process.ts'
import { matchingManifest } from './manifest.ts'

await runService(matchingManifest)
