import { defineManifest } from '@penstock/runtime/manifest.ts'
import { paymentsService } from './service.ts'

export const paymentsManifest = defineManifest({
  name: 'payments',
  create: paymentsService,
  needs: ['facts', 'records', 'deliveries', 'opener', 'postWebhook'],
  scaling: { by: 'lag', reason: 'commands wait in their topics' },
  tables: { ownsPrefixes: ['webhook_'], reads: ['records'] },
})
