import { runWithRegularPriority } from '@penstock/runtime/commands/low-priority.ts'

export type BatchQueue<Job> = {
  readonly add: (job: Job) => void
  /** Resolves when all queued jobs are done. */
  readonly idle: () => Promise<void>
}

export type BatchQueueOptions<Job> = {
  /** Waits for the jobs that join the first batch after a pause. */
  readonly gather: () => Promise<unknown>
  /** Selects at least one of the waiting jobs. */
  readonly select: (waiting: readonly Job[]) => { readonly batch: readonly Job[]; readonly rest: Job[] }
  /** Runs a batch and settles each of its jobs. It must not reject. */
  readonly run: (batch: readonly Job[]) => Promise<void>
}

/** Runs jobs of concurrent callers in batches, one batch at a time. Jobs that arrive during a batch wait for a later one. */
export function createBatchQueue<Job>({ gather, select, run }: BatchQueueOptions<Job>): BatchQueue<Job> {
  let waiting: Job[] = []
  let draining: Promise<void> | undefined

  async function drain(): Promise<void> {
    await gather()
    while (waiting.length > 0) {
      const { batch, rest } = select(waiting)
      waiting = rest
      await run(batch)
    }
    draining = undefined
  }

  return {
    add(job) {
      waiting.push(job)
      draining ??= runWithRegularPriority(drain)
    },
    idle: async () => draining,
  }
}
