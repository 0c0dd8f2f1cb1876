import { defineManifest } from '@penstock/runtime/manifest.ts'
import { accountsService } from './service.ts'

export const accountsManifest = defineManifest({
  name: 'accounts',
  create: () => accountsService,
  needs: [],
  scaling: { by: 'none', reason: 'it has little to do' },
})
