import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { compileLifecycle } from '@penstock/runtime/lifecycle/lifecycle.ts'
import { holdMachine } from './hold.machine.ts'

export type HoldStatus = 'NONE' | 'requested' | 'open' | 'held' | 'settling' | 'settled' | 'cancelling' | 'cancelled'

const lifecycle = compileLifecycle<HoldStatus, SettlementFact['type']>(holdMachine)

/** @throws Bug if the machine has no such edge */
export function holdStatusAfter(status: HoldStatus, type: SettlementFact['type']): HoldStatus {
  const next = lifecycle.after(status, type)
  if (!next) throw new Bug(`${type} cannot follow in a hold that is ${status}`)
  return next
}
