import type { ServiceManifest } from '@penstock/runtime/manifest.ts'

export const gatewayManifest = {
  name: 'gateway',
  needs: ['lightning', 'chain', 'sealer'],
  scaling: { by: 'cpu', reason: 'it answers requests and hashes passwords; its read models are shared tables' },
  isPublic: true,
  tables: {
    ownsPrefixes: ['gateway_'],
    owns: ['limit_hits', 'records'],
    reads: ['webhook_endpoints', 'webhook_events', 'webhook_attempts'],
  },
} as const satisfies ServiceManifest
