/** A job that can run concurrently with others. */
export type ScheduledJob = {
  readonly name: string
  /** Cores that the job keeps busy. A number above the machine's cores counts as all cores. */
  readonly cores: number
  /** The approximate duration. The longest job starts first. */
  readonly minutes: number
  /** The job starts only after this promise has resolved. */
  readonly ready?: Promise<void>
}

/**
 * Runs each job once. Concurrent jobs never need more cores than there are. Among the ready jobs for which enough cores are
 * free, the longest starts next.
 * @returns the results in the order of the jobs, without the jobs that had not started when the signal was aborted
 */
export async function runConcurrentJobs<J extends ScheduledJob, R>(
  jobs: readonly J[],
  cores: number,
  run: (job: J) => Promise<R>,
  signal: AbortSignal,
): Promise<readonly R[]> {
  const waiting = new Set(jobs.toSorted((one, other) => other.minutes - one.minutes))
  const ready = new Set<J>()
  const results = new Map<J, Promise<R>>()
  let busyCores = 0
  let wake = (): void => {}
  const countCores = (job: J): number => Math.min(job.cores, cores)
  const hasRoom = (job: J): boolean => ready.has(job) && busyCores + countCores(job) <= cores
  const startJob = async (job: J): Promise<R> => {
    waiting.delete(job)
    busyCores += countCores(job)
    try {
      return await run(job)
    } finally {
      busyCores -= countCores(job)
      wake()
    }
  }
  for (const job of jobs)
    void Promise.resolve(job.ready).then(() => {
      ready.add(job)
      wake()
    })
  signal.addEventListener('abort', () => wake(), { once: true })
  while (waiting.size > 0 && !signal.aborted) {
    const next = [...waiting].find(hasRoom)
    if (next) results.set(next, startJob(next))
    else await new Promise<void>((resolve) => (wake = resolve))
  }
  return Promise.all(jobs.flatMap((job) => results.get(job) ?? []))
}
