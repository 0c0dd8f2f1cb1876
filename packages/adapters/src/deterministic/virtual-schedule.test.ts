import { describe, expect, it } from 'vitest'
import { createPrng } from './prng.ts'
import { createVirtualSchedule } from './virtual-schedule.ts'

describe('random numbers of a seed', () => {
  it('are equal for one seed, differ for another, and cover the requested range', () => {
    const numbersOf = (seed: string) =>
      Array.from(
        { length: 1000 },
        (
          (prng) => () =>
            prng.between(1, 10)
        )(createPrng(seed)),
      )
    expect(numbersOf('a')).toEqual(numbersOf('a'))
    expect(numbersOf('a')).not.toEqual(numbersOf('b'))
    const counts = new Map<number, number>()
    for (const value of numbersOf('a')) counts.set(value, (counts.get(value) ?? 0) + 1)
    expect([...counts.keys()].sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(Math.min(...counts.values())).toBeGreaterThan(50)
  })
  it('of a fork do not depend on numbers drawn from the parent generator', () => {
    const [calm, busy] = [createPrng('a'), createPrng('a')]
    for (let draw = 0; draw < 5; draw++) busy.fraction()
    expect(busy.fork('bus').bytes(16)).toEqual(calm.fork('bus').bytes(16))
    expect(calm.fork('bus').bytes(16)).not.toEqual(calm.fork('store').bytes(16))
  })
})

/** Runs a small workload of tasks that sleep, so that several actions share an instant. */
async function runSmallWorkload(seed: number): Promise<{ readonly seen: readonly string[]; readonly trace: string }> {
  const virtualSchedule = createVirtualSchedule(seed)
  const seen: string[] = []
  const worker = async (name: string): Promise<void> => {
    for (let round = 0; round < 5; round++) {
      await virtualSchedule.clock.sleep(10)
      await Promise.resolve()
      seen.push(`${name}${round}@${virtualSchedule.now()}`)
    }
  }
  for (const name of ['a', 'b', 'c', 'd']) virtualSchedule.later(0, () => void worker(name), name)
  await virtualSchedule.run()
  return { seen, trace: virtualSchedule.traceHash() }
}

describe('a schedule', () => {
  it('runs the same steps for one seed and other steps for another', async () => {
    const [one, repeated, other] = [await runSmallWorkload(1), await runSmallWorkload(1), await runSmallWorkload(2)]
    expect(repeated).toEqual(one)
    expect(other.trace).not.toBe(one.trace)
    expect(other.seen).not.toEqual(one.seen)
    expect([...other.seen].sort()).toEqual([...one.seen].sort())
  })
  it('runs actions in the order of time, and completes the effects of an action before the next action', async () => {
    const virtualSchedule = createVirtualSchedule('order')
    const seen: string[] = []
    virtualSchedule.later(5, () => seen.push('late'))
    virtualSchedule.later(1, () => {
      void (async () => {
        for (let hop = 0; hop < 50; hop++) await Promise.resolve()
        await new Promise<void>((resolve) => process.nextTick(resolve))
        seen.push('set off')
      })()
    })
    virtualSchedule.later(1.5, () => seen.push('middle'))
    expect(await virtualSchedule.run()).toBe('idle')
    expect(seen).toEqual(['set off', 'middle', 'late'])
  })
  it('ends a run at its limits, and the next run continues there', async () => {
    const virtualSchedule = createVirtualSchedule('ends', { startAt: 1000 })
    const seen: number[] = []
    let checks = 0
    for (const at of [10, 20, 30, 40]) virtualSchedule.later(at, () => seen.push(at))
    expect(await virtualSchedule.run({ maxSteps: 1, afterStep: () => checks++ })).toBe('steps')
    expect(await virtualSchedule.run({ untilMs: 1025 })).toBe('time')
    expect([seen, virtualSchedule.now(), checks]).toEqual([[10, 20], 1025, 1])
    expect(await virtualSchedule.run({ until: () => seen.length === 3 })).toBe('until')
    virtualSchedule.later(1, () => {
      throw new Error('an invariant does not hold')
    })
    await expect(virtualSchedule.run()).rejects.toThrow('does not hold')
    expect(virtualSchedule.recentSteps().at(-1)).toBe('1031 action')
  })
  it('skips cancelled actions, and wakes a sleeper when its signal aborts', async () => {
    const virtualSchedule = createVirtualSchedule('cancel')
    const cancel = virtualSchedule.later(5, () => expect.unreachable())
    const stop = new AbortController()
    const sleeping = virtualSchedule.clock.sleep(1e9, stop.signal)
    virtualSchedule.later(1, () => stop.abort())
    cancel()
    expect(await virtualSchedule.run()).toBe('idle')
    await sleeping
    expect(virtualSchedule.steps()).toBe(1)
  })
})

it('a schedule whose time does not advance ends the run with an error at the step limit', async () => {
  const virtualSchedule = createVirtualSchedule('endless', { stepLimit: 100 })
  const spin = (): void => void virtualSchedule.later(0, spin, 'spin')
  spin()
  await expect(virtualSchedule.run({ untilMs: virtualSchedule.now() + 1000 })).rejects.toThrow(/^100 steps, and no end: .* spin/)
  expect(virtualSchedule.steps()).toBe(100)
})
