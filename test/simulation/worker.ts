import { fetchPreviousRelease, importPreviousRelease } from './previous-release.ts'
import type { SimulationPlan } from './plan/plan.ts'
import { type SeedOutcome, runPlan } from './run-plan.ts'
import type { ReplicaStarts } from './world/process-host.ts'
import * as today from './replica.ts'
import { marketDefects } from './broken-market/defects.ts'

/** A task for a worker process. `defect`: the name of a market defect. A worker runs its tasks one after the other. */
export type SimulationTask = { readonly plan: SimulationPlan; readonly defect?: string }
/** A message from a worker. For each task it sends first 'begun', and then the outcome. */
export type WorkerMessage = 'begun' | SeedOutcome

let starts: Promise<ReplicaStarts> | undefined

/** Loads the previous release if the plan needs it and the clone contains it, once per worker. */
function loadStarts(plan: SimulationPlan): Promise<ReplicaStarts> {
  if (plan.previousReleaseProcesses.length === 0) return Promise.resolve({ current: today.startReplica, previous: undefined })
  return (starts ??= (async () => {
    const problem = fetchPreviousRelease()
    const previous =
      problem === undefined ? await importPreviousRelease<typeof today>(new URL('replica.ts', import.meta.url)) : undefined
    return { current: today.startReplica, previous: previous?.startReplica }
  })())
}

async function runTask({ plan, defect }: SimulationTask): Promise<SeedOutcome> {
  return runPlan(plan, await loadStarts(plan), defect === undefined ? undefined : marketDefects[defect])
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
