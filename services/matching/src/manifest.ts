import { defineManifest } from '@penstock/runtime/manifest.ts'
import { matchingService } from './service.ts'

export const matchingManifest = defineManifest({
  name: 'matching',
  create: matchingService,
  needs: ['chain', 'graph'],
  scaling: { by: 'lag', reason: 'commands wait in their topics' },
  // The last times of a seller's attestation and of a request for a channel.
  tables: { owns: ['last_seen'] },
})
