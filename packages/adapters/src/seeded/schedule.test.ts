import { describe, expect, it } from 'vitest'
import { random } from './random.ts'
import { schedule } from './schedule.ts'

describe('random numbers of a seed', () => {
  it('are the same for a seed, others for another, and spread over what was asked for', () => {
    const drawn = (seed: string) =>
      Array.from(
        { length: 1000 },
        (
          (draws) => () =>
            draws.between(1, 10)
        )(random(seed)),
      )
    expect(drawn('a')).toEqual(drawn('a'))
    expect(drawn('a')).not.toEqual(drawn('b'))
    const counts = new Map<number, number>()
    for (const value of drawn('a')) counts.set(value, (counts.get(value) ?? 0) + 1)
    expect([...counts.keys()].sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(Math.min(...counts.values())).toBeGreaterThan(50)
  })
  it('come from a fork of their own, whatever was drawn elsewhere', () => {
    const [calm, busy] = [random('a'), random('a')]
    for (let draw = 0; draw < 5; draw++) busy.fraction()
    expect(busy.fork('bus').bytes(16)).toEqual(calm.fork('bus').bytes(16))
    expect(calm.fork('bus').bytes(16)).not.toEqual(calm.fork('store').bytes(16))
  })
})

/** What a small world did: sleepers, ties, and actions that ask for more. */
async function course(seed: number): Promise<{ readonly seen: readonly string[]; readonly trace: string }> {
  const world = schedule(seed)
  const seen: string[] = []
  const worker = async (name: string): Promise<void> => {
    for (let round = 0; round < 5; round++) {
      await world.clock.sleep(10)
      await Promise.resolve()
      seen.push(`${name}${round}@${world.now()}`)
    }
  }
  for (const name of ['a', 'b', 'c', 'd']) world.later(0, () => void worker(name), name)
  await world.run()
  return { seen, trace: world.trace() }
}

describe('a schedule', () => {
  it('gives one course for a seed and others for others', async () => {
    const [one, again, other] = [await course(1), await course(1), await course(2)]
    expect(again).toEqual(one)
    expect(other.trace).not.toBe(one.trace)
    expect(other.seen).not.toEqual(one.seen)
    expect([...other.seen].sort()).toEqual([...one.seen].sort())
  })
  it('runs in order of time, and all that an action sets off before the next', async () => {
    const world = schedule('order')
    const seen: string[] = []
    world.later(5, () => seen.push('late'))
    world.later(1, () => {
      void (async () => {
        for (let hop = 0; hop < 50; hop++) await Promise.resolve()
        await new Promise<void>((resolve) => process.nextTick(resolve))
        seen.push('set off')
      })()
    })
    world.later(1.5, () => seen.push('middle'))
    expect(await world.run()).toBe('idle')
    expect(seen).toEqual(['set off', 'middle', 'late'])
  })
  it('ends where it was told to, and goes on from there', async () => {
    const world = schedule('ends', { startAt: 1000 })
    const seen: number[] = []
    let checks = 0
    for (const at of [10, 20, 30, 40]) world.later(at, () => seen.push(at))
    expect(await world.run({ maxSteps: 1, afterStep: () => checks++ })).toBe('steps')
    expect(await world.run({ untilMs: 1025 })).toBe('time')
    expect([seen, world.now(), checks]).toEqual([[10, 20], 1025, 1])
    expect(await world.run({ until: () => seen.length === 3 })).toBe('until')
    world.later(1, () => {
      throw new Error('an invariant does not hold')
    })
    await expect(world.run()).rejects.toThrow('does not hold')
    expect(world.recent().at(-1)).toBe('1031 action')
  })
  it('runs nothing that was cancelled, and wakes sleepers by their signal', async () => {
    const world = schedule('cancel')
    const cancel = world.later(5, () => expect.unreachable())
    const stop = new AbortController()
    const sleeping = world.clock.sleep(1e9, stop.signal)
    world.later(1, () => stop.abort())
    cancel()
    expect(await world.run()).toBe('idle')
    await sleeping
    expect(world.steps()).toBe(1)
  })
})

it('ends a world that takes more steps than any does, though its clock stands still', async () => {
  const world = schedule('endless', { mostSteps: 100 })
  const spin = (): void => void world.later(0, spin, 'spin')
  spin()
  await expect(world.run({ untilMs: world.now() + 1000 })).rejects.toThrow(/^100 steps, and no end: .* spin/)
  expect(world.steps()).toBe(100)
})
