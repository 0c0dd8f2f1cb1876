import { z } from 'zod'
import { type CommandsOf, defineContract, type FactsOf, type TargetOf, v1 } from '../define.ts'
import { hash, instant, noData, uuid } from '../shapes.ts'

export const permissionResources = ['ENVIRONMENTS', 'WALLETS', 'WALLET_CREDENTIALS', 'PAYMENTS', 'WEBHOOKS'] as const
export type PermissionResource = (typeof permissionResources)[number]
export const permissionLevels = ['READ', 'WRITE'] as const
export type PermissionLevel = (typeof permissionLevels)[number]

const permission = z.strictObject({ resource: z.enum(permissionResources), level: z.enum(permissionLevels) })
/** The right to call the operations of a resource. WRITE implies READ. */
export type Permission = z.output<typeof permission>

const issued = z.strictObject({
  environmentId: uuid,
  teamId: uuid,
  /** The keyed hash of the key. No fact contains the key. */
  keyHash: hash,
  /** The first and last characters of the key, by which people recognise it. */
  prefix: z.string().max(16),
  suffix: z.string().max(8),
  nameRecord: uuid,
  /** The only wallet that the key works for; null for all wallets of the environment. */
  walletId: uuid.nullable(),
  nodeId: uuid.nullable(),
  expiresAt: instant.nullable(),
  permissions: z.array(permission).min(1).max(10),
})

/** A key of a service of the team, for one environment. */
export const serviceKeyContract = defineContract('servicekey', 'payments', {
  facts: {
    KeyIssued: v1(issued),
    KeyRenamed: v1(z.strictObject({ nameRecord: uuid })),
    KeyRevoked: v1(noData),
  },
  commands: {
    IssueKey: { ...v1(issued), from: ['gateway'] },
    RenameKey: { ...v1(z.strictObject({ nameRecord: uuid })), from: ['gateway'] },
    RevokeKey: { ...v1(noData), from: ['gateway'] },
  },
  records: { IssueKey: ['KeyIssued'], RenameKey: ['KeyRenamed'], RevokeKey: ['KeyRevoked'] },
})
export type ServiceKeyFact = FactsOf<typeof serviceKeyContract>
export type ServiceKeyCommand = CommandsOf<typeof serviceKeyContract>
export type ServiceKeyTarget = TargetOf<typeof serviceKeyContract>
