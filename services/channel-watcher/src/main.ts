import { runService } from '@penstock/platforms/process.ts'
import { channelWatcherManifest } from './manifest.ts'

await runService(channelWatcherManifest)
