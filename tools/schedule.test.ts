import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Job, runSideBySide } from './schedule.ts'

const NEVER = new AbortController().signal

/** Jobs that end when they are told to. */
function stage() {
  const ends = new Map<string, () => void>()
  const begun: string[] = []
  const run = async ({ name }: Job): Promise<string> => {
    begun.push(name)
    await new Promise<void>((resolve) => ends.set(name, resolve))
    return `${name} ended`
  }
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.()
    await turn()
  }
  return { run, begun, end }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('what takes longest begins first, and what does not fit is passed over', async () => {
  const { run, begun, end } = stage()
  const jobs = [
    { name: 'short', cores: 1, minutes: 1 },
    { name: 'wide', cores: 4, minutes: 3 },
    { name: 'long', cores: 1, minutes: 9 },
  ]
  const all = runSideBySide(jobs, 2, run, NEVER)
  await turn()
  expect(begun).toEqual(['long', 'short'])
  await end('short')
  expect(begun).toEqual(['long', 'short'])
  await end('long')
  expect(begun).toEqual(['long', 'short', 'wide'])
  await end('wide')
  expect(await all).toEqual(['short ended', 'wide ended', 'long ended'])
})

test('a job waits for what it needs, and others begin before it', async () => {
  const { run, begun, end } = stage()
  const installed = Promise.withResolvers<void>()
  const jobs = [
    { name: 'needs a program', cores: 2, minutes: 9, ready: installed.promise },
    { name: 'needs none', cores: 1, minutes: 1 },
  ]
  const all = runSideBySide(jobs, 2, run, NEVER)
  await turn()
  expect(begun).toEqual(['needs none'])
  await end('needs none')
  installed.resolve()
  await turn()
  expect(begun).toEqual(['needs none', 'needs a program'])
  await end('needs a program')
  await all
})

test('after a stop nothing more begins, and what runs is waited for', async () => {
  const { run, begun, end } = stage()
  const stop = new AbortController()
  const jobs = [
    { name: 'first', cores: 2, minutes: 2 },
    { name: 'second', cores: 2, minutes: 1 },
  ]
  const all = runSideBySide(jobs, 2, run, stop.signal)
  await turn()
  stop.abort()
  await end('first')
  expect(await all).toEqual(['first ended'])
  expect(begun).toEqual(['first'])
})

test('each job runs once, and never more at a time than the cores carry', async () => {
  const job = fc.record({ cores: fc.constantFrom(0.5, 1, 2, 8), minutes: fc.nat(20) })
  await fc.assert(
    fc.asyncProperty(fc.array(job, { maxLength: 12 }), fc.integer({ min: 1, max: 4 }), async (drawn, cores) => {
      const jobs = drawn.map((one, index) => ({ ...one, name: `${index}` }))
      let busyCores = 0
      const given = await runSideBySide(
        jobs,
        cores,
        async ({ name, cores: asked }) => {
          busyCores += Math.min(asked, cores)
          expect(busyCores).toBeLessThanOrEqual(cores)
          await turn()
          busyCores -= Math.min(asked, cores)
          return name
        },
        NEVER,
      )
      expect(given).toEqual(jobs.map(({ name }) => name))
    }),
  )
})
