import { defineManifest } from '@penstock/runtime/manifest.ts'
import { settlementService } from './service.ts'

export const settlementManifest = defineManifest({
  name: 'settlement',
  create: settlementService,
  needs: ['lightning', 'chain', 'keyring', 'network'],
  macaroon: 'settlement',
  scaling: { by: 'none', reason: 'it guards money on every block, regardless of its load; run a fixed number, two or three' },
})
