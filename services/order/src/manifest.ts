import { defineManifest } from '@penstock/runtime/manifest.ts'
import { orderService } from './service.ts'

export const orderManifest = defineManifest({
  name: 'order',
  create: () => orderService,
  needs: ['network'],
  scaling: { by: 'lag', reason: 'commands wait in their topics' },
})
