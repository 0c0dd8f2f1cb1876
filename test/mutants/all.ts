import { accountsMutants } from './areas/accounts.ts'
import { auditMutants } from './areas/audit.ts'
import { guardMutants } from './areas/guard.ts'
import { lndMutants } from './areas/lnd.ts'
import { matchingMutants } from './areas/matching.ts'
import { orderMutants } from './areas/order.ts'
import { paymentsMutants } from './areas/payments.ts'
import { projectionMutants } from './areas/projection.ts'
import { relayMutants } from './areas/relay.ts'
import { lossMutants } from './areas/loss.ts'
import { settlementMutants } from './areas/settlement.ts'
import { watcherMutants } from './areas/watcher.ts'
import { webhookMutants } from './areas/webhooks.ts'
import type { Mutant } from './mutant.ts'

export const allMutants: readonly Mutant[] = [
  ...settlementMutants,
  ...lossMutants,
  ...lndMutants,
  ...guardMutants,
  ...orderMutants,
  ...matchingMutants,
  ...relayMutants,
  ...projectionMutants,
  ...watcherMutants,
  ...accountsMutants,
  ...paymentsMutants,
  ...webhookMutants,
  ...auditMutants,
]
