import { defineManifest } from '@penstock/runtime/manifest.ts'
import { channelWatcherService } from './service.ts'

export const channelWatcherManifest = defineManifest({
  name: 'channel-watcher',
  create: () => channelWatcherService,
  needs: ['lightning', 'chain'],
  macaroon: 'channel-watcher',
  scaling: { by: 'lag', reason: 'commands wait in their topics' },
})
