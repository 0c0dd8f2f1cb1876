import type { FaultKind } from '@penstock/adapters/deterministic/faults/fault-injector.ts'
import type { SimulationPlan } from './plan/plan.ts'

/**
 * Shrinks a failing plan as long as it still violates the same invariant. It removes purchases, invoices, kills, triggers, operator
 * actions, network events, kinds of faults, rolled-out processes and clock skews.
 * @param failsSame whether a smaller plan violates the same invariant as the original plan
 */
export async function shrinkPlan(
  plan: SimulationPlan,
  failsSame: (smaller: SimulationPlan) => Promise<boolean>,
  maxTries = 80,
): Promise<SimulationPlan> {
  let best = plan
  let tries = 0
  for (let isBetter = true; isBetter && tries < maxTries;) {
    isBetter = false
    for (const smaller of listSmallerPlans(best)) {
      if (tries++ >= maxTries) break
      if (!(await failsSame(smaller))) continue
      best = smaller
      isBetter = true
      break
    }
  }
  return best
}

/** @returns the number of parts of a plan that can be removed */
export const measurePlan = ({
  purchases,
  sandboxInvoices,
  networkEvents,
  operatorActions,
  kills,
  crashPoints,
  triggers,
  faults,
  rolledOutProcesses,
  skewMs,
}: SimulationPlan): number =>
  purchases.length +
  sandboxInvoices.length +
  networkEvents.length +
  operatorActions.length +
  kills.length +
  crashPoints.length +
  triggers.length +
  Object.keys(faults).length +
  rolledOutProcesses.length +
  Object.keys(skewMs).length

/** Yields smaller plans. Of each list it removes all entries, then each half, and then each single entry. */
function* listSmallerPlans(plan: SimulationPlan): Generator<SimulationPlan> {
  const kinds = Object.keys(plan.faults) as FaultKind[]
  const withFaults = (keptKinds: readonly FaultKind[]): SimulationPlan => ({
    ...plan,
    faults: Object.fromEntries(keptKinds.map((kind) => [kind, plan.faults[kind]])),
  })
  if (kinds.length > 0) yield withFaults([])
  if (plan.rolledOutProcesses.length > 0) yield { ...plan, rolledOutProcesses: [] }
  if (Object.keys(plan.skewMs).length > 0) yield { ...plan, skewMs: {} }
  for (const kills of removeParts(plan.kills)) yield { ...plan, kills }
  for (const crashPoints of removeParts(plan.crashPoints)) yield { ...plan, crashPoints }
  for (const triggers of removeParts(plan.triggers)) yield { ...plan, triggers }
  for (const networkEvents of removeParts(plan.networkEvents)) yield { ...plan, networkEvents }
  for (const operatorActions of removeParts(plan.operatorActions)) yield { ...plan, operatorActions }
  for (const sandboxInvoices of removeParts(plan.sandboxInvoices)) yield { ...plan, sandboxInvoices }
  for (const purchases of removeParts(plan.purchases)) yield { ...plan, purchases }
  for (const keptKinds of removeParts(kinds)) yield withFaults(keptKinds)
}

function* removeParts<T>(list: readonly T[]): Generator<readonly T[]> {
  const half = Math.ceil(list.length / 2)
  if (list.length > 1) {
    yield []
    yield list.slice(half)
    yield list.slice(0, half)
  }
  for (const index of list.keys()) yield list.toSpliced(index, 1)
}
