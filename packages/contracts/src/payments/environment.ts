import { z } from 'zod'
import { type CommandsOf, defineContract, type FactsOf, type TargetOf, v1 } from '../define.ts'
import { noData, uuid } from '../shapes.ts'
import { environmentType } from './shapes.ts'

/**
 * `firstWalletId`: the BTC wallet with which a sandbox begins. `keyId`: the service API key that created the environment; null
 * if a dashboard user did. `nameRecord`: the id of the name in the side table.
 */
const environment = z.strictObject({
  teamId: uuid,
  type: environmentType,
  nameRecord: uuid,
  firstWalletId: uuid.nullable(),
  keyId: uuid.nullable(),
})

/** A team's space for wallets, transactions and keys. Deleting it ends its keys, and hides its wallets and transactions. */
export const environmentContract = defineContract('environment', 'payments', {
  isFollowedInMemory: true,
  facts: { EnvironmentCreated: v1(environment), EnvironmentDeleted: v1(noData) },
  commands: {
    CreateEnvironment: { ...v1(environment), from: ['gateway'] },
    DeleteEnvironment: { ...v1(noData), from: ['gateway'] },
  },
  records: { CreateEnvironment: ['EnvironmentCreated'], DeleteEnvironment: ['EnvironmentDeleted'] },
})
export type EnvironmentFact = FactsOf<typeof environmentContract>
export type EnvironmentCommand = CommandsOf<typeof environmentContract>
export type EnvironmentTarget = TargetOf<typeof environmentContract>
