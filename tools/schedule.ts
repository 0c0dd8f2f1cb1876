/** Something that runs beside others. */
export type Job = {
  readonly name: string
  /** What it keeps busy; more than the machine has counts as all that it has. */
  readonly cores: number
  /** About how long it runs: what takes longest begins first. */
  readonly minutes: number
  /** It begins when this has come. */
  readonly ready?: Promise<void>
}

/**
 * Runs each job once, side by side, and never more than the cores carry. Of those that are ready and fit, the longest
 * begins; one that does not fit is passed over until it does.
 * @returns what each run gave, in the order of the jobs; without the jobs that had not begun when the signal came
 */
export async function runSideBySide<J extends Job, R>(
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
  const taken = (job: J): number => Math.min(job.cores, cores)
  const fits = (job: J): boolean => ready.has(job) && busyCores + taken(job) <= cores
  const begin = async (job: J): Promise<R> => {
    waiting.delete(job)
    busyCores += taken(job)
    try {
      return await run(job)
    } finally {
      busyCores -= taken(job)
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
    const next = [...waiting].find(fits)
    if (next) results.set(next, begin(next))
    else await new Promise<void>((resolve) => (wake = resolve))
  }
  return Promise.all(jobs.flatMap((job) => results.get(job) ?? []))
}
