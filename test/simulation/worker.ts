import type { SimulationPlan } from './plan/plan.ts'
import { type SeedOutcome, runPlan } from './run-plan.ts'
import { marketDefects } from './broken-market/defects.ts'
import type { MarketDefect } from './broken-market/tools.ts'

/** A task for a worker process. `defect`: the name of a market defect. A worker runs its tasks one after the other. */
export type SimulationTask = { readonly plan: SimulationPlan; readonly defect?: string }
/** A message from a worker. For each task it sends first 'begun', and then the outcome. */
export type WorkerMessage = 'begun' | SeedOutcome

const runTask = async ({ plan, defect }: SimulationTask): Promise<SeedOutcome> =>
  runPlan(plan, defect === undefined ? undefined : findDefect(defect))

function findDefect(name: string): MarketDefect {
  const defect = Object.hasOwn(marketDefects, name) ? marketDefects[name] : undefined
  if (!defect) throw new Error(`there is no market defect "${name}"`)
  return defect
}

if (process.send) {
  process.on('message', (task: SimulationTask) => {
    process.send?.('begun' satisfies WorkerMessage)
    void runTask(task).then(
      (outcome) => process.send?.(outcome),
      (error: unknown) => {
        console.error(error)
        process.exit(1)
      },
    )
  })
  process.on('disconnect', () => process.exit(0))
}
