import type { ServiceManifest } from '@penstock/runtime/manifest.ts'

export const gatewayManifest = {
  name: 'gateway',
  needs: ['lightning', 'chain'],
  scaling: { by: 'cpu', reason: 'it answers requests and hashes passwords; its read models are shared tables' },
  isPublic: true,
  tables: { ownsPrefixes: ['gateway_'], owns: ['limit_hits', 'records'] },
} as const satisfies ServiceManifest
