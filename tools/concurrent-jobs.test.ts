import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ScheduledJob, runConcurrentJobs } from './concurrent-jobs.ts'

const NEVER = new AbortController().signal

/** Creates a `run` function whose jobs end by a call of `end`. `started` lists the jobs that have started. */
function createJobControls() {
  const ends = new Map<string, () => void>()
  const started: string[] = []
  const run = async ({ name }: ScheduledJob): Promise<string> => {
    started.push(name)
    await new Promise<void>((resolve) => ends.set(name, resolve))
    return `${name} ended`
  }
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.()
    await waitForTurn()
  }
  return { run, started, end }
}

const waitForTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('the longest job starts first, and a job that needs more than the free cores waits', async () => {
  const { run, started, end } = createJobControls()
  const jobs = [
    { name: 'short', cores: 1, minutes: 1 },
    { name: 'wide', cores: 4, minutes: 3 },
    { name: 'long', cores: 1, minutes: 9 },
  ]
  const all = runConcurrentJobs(jobs, 2, run, NEVER)
  await waitForTurn()
  expect(started).toEqual(['long', 'short'])
  await end('short')
  expect(started).toEqual(['long', 'short'])
  await end('long')
  expect(started).toEqual(['long', 'short', 'wide'])
  await end('wide')
  expect(await all).toEqual(['short ended', 'wide ended', 'long ended'])
})

test('a job waits until it is ready, and other jobs start before it', async () => {
  const { run, started, end } = createJobControls()
  const installed = Promise.withResolvers<void>()
  const jobs = [
    { name: 'needs a program', cores: 2, minutes: 9, ready: installed.promise },
    { name: 'needs none', cores: 1, minutes: 1 },
  ]
  const all = runConcurrentJobs(jobs, 2, run, NEVER)
  await waitForTurn()
  expect(started).toEqual(['needs none'])
  await end('needs none')
  installed.resolve()
  await waitForTurn()
  expect(started).toEqual(['needs none', 'needs a program'])
  await end('needs a program')
  await all
})

test('after an abort no job starts, and running jobs are awaited', async () => {
  const { run, started, end } = createJobControls()
  const stop = new AbortController()
  const jobs = [
    { name: 'first', cores: 2, minutes: 2 },
    { name: 'second', cores: 2, minutes: 1 },
  ]
  const all = runConcurrentJobs(jobs, 2, run, stop.signal)
  await waitForTurn()
  stop.abort()
  await end('first')
  expect(await all).toEqual(['first ended'])
  expect(started).toEqual(['first'])
})

test('each job runs once, and concurrent jobs never need more cores than there are', async () => {
  const job = fc.record({ cores: fc.constantFrom(0.5, 1, 2, 8), minutes: fc.nat(20) })
  await fc.assert(
    fc.asyncProperty(fc.array(job, { maxLength: 12 }), fc.integer({ min: 1, max: 4 }), async (randomJobs, cores) => {
      const jobs = randomJobs.map((one, index) => ({ ...one, name: `${index}` }))
      let busyCores = 0
      const results = await runConcurrentJobs(
        jobs,
        cores,
        async ({ name, cores: jobCores }) => {
          busyCores += Math.min(jobCores, cores)
          expect(busyCores).toBeLessThanOrEqual(cores)
          await waitForTurn()
          busyCores -= Math.min(jobCores, cores)
          return name
        },
        NEVER,
      )
      expect(results).toEqual(jobs.map(({ name }) => name))
    }),
  )
})
