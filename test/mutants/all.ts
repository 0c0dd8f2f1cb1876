import { accounts } from './areas/accounts.ts'
import { audit } from './areas/audit.ts'
import { guard } from './areas/guard.ts'
import { lnd } from './areas/lnd.ts'
import { matching } from './areas/matching.ts'
import { order } from './areas/order.ts'
import { projection } from './areas/projection.ts'
import { relay } from './areas/relay.ts'
import { loss } from './areas/loss.ts'
import { settlement } from './areas/settlement.ts'
import { watcher } from './areas/watcher.ts'
import type { Mutant } from './mutant.ts'

export const mutants: readonly Mutant[] = [
  ...settlement,
  ...loss,
  ...lnd,
  ...guard,
  ...order,
  ...matching,
  ...relay,
  ...projection,
  ...watcher,
  ...accounts,
  ...audit,
]
