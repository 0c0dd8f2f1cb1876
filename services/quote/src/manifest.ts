import { defineManifest } from '@penstock/runtime/manifest.ts'
import { quoteService } from './service.ts'

export const quoteManifest = defineManifest({
  name: 'quote',
  create: quoteService,
  needs: ['rates', 'chain', 'graph'],
  scaling: { by: 'lag', reason: 'commands wait in their topics' },
  // The last times of a seller's attestation and of a request for a channel.
  tables: { reads: ['last_seen'] },
  // The previous release records that an order was placed.
  followedBefore: ['order'],
})
