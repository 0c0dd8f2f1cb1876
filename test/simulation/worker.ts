import { fetchPinned, importPinned } from './pinned.ts'
import type { Plan } from './plan.ts'
import { type Outcome, runPlan } from './run-plan.ts'
import type { Starts } from './processes.ts'
import * as today from './replica.ts'
import { sabotages } from './sabotage.ts'

/** One worker process: runs the plans that it is sent, one after the other. */
export type Task = { readonly plan: Plan; readonly sabotage?: string }
/** What it says to each: that it has the task in hand, then what became of it. */
export type Said = 'begun' | Outcome

let starts: Promise<Starts> | undefined

/** The earlier contracts are loaded only where a plan wants them and the clone has them. */
function startsFor(plan: Plan): Promise<Starts> {
  if (plan.old.length === 0) return Promise.resolve({ today: today.startReplica, pinned: undefined })
  return (starts ??= (async () => {
    const missing = fetchPinned()
    const pinned = missing === undefined ? await importPinned<typeof today>(new URL('replica.ts', import.meta.url)) : undefined
    return { today: today.startReplica, pinned: pinned?.startReplica }
  })())
}

async function perform({ plan, sabotage }: Task): Promise<Outcome> {
  return runPlan(plan, await startsFor(plan), sabotage === undefined ? undefined : sabotages[sabotage])
}

if (process.send) {
  process.on('message', (task: Task) => {
    process.send?.('begun' satisfies Said)
    void perform(task).then(
      (outcome) => process.send?.(outcome),
      (error: unknown) => {
        console.error(error)
        process.exit(1)
      },
    )
  })
  process.on('disconnect', () => process.exit(0))
}
