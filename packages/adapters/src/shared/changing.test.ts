import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import { changing } from './changing.ts'

/** Polls at once, so that nobody waits. */
const clock = { now: () => 0, monotonicMs: () => 0, sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) }
/** Never polls. */
const still = { now: () => 0, monotonicMs: () => 0, sleep: () => new Promise<void>(() => undefined) }

test('gives the present state, then each change once, and ends with the signal', async () => {
  const states: (string | undefined)[] = [undefined, 'open', 'open', 'held', 'held', 'settled']
  const stop = new AbortController()
  const seen: string[] = []
  for await (const state of changing({ read: async () => states.shift(), pollMs: 1, clock, signal: stop.signal })) {
    seen.push(state)
    if (state === 'settled') stop.abort()
  }
  expect(seen).toEqual(['open', 'held', 'settled'])
})

test('a fault is left for the next time, and anything else is thrown', async () => {
  const answers = [new Fault('away'), 1n, new Error('a bug')]
  const read = async (): Promise<bigint | undefined> => {
    const answer = answers.shift()
    if (answer instanceof Error) throw answer
    return answer
  }
  const seen: bigint[] = []
  const reading = (async () => {
    for await (const value of changing({ read, pollMs: 1, clock, signal: new AbortController().signal })) seen.push(value)
  })()
  await expect(reading).rejects.toThrow('a bug')
  expect(seen).toEqual([1n])
})

test('a notice is enough; a stream that ended is opened again, and hung up at the end', async () => {
  let value = 0
  let opened = 0
  let hungUp = 0
  const bells: (() => void)[] = []
  const ends: (() => void)[] = []
  const listen = (knock: () => void, ended: () => void) => {
    opened++
    bells.push(knock)
    ends.push(ended)
    return () => void hungUp++
  }
  const stop = new AbortController()
  const seen: number[] = []
  const reading = (async () => {
    for await (const now of changing({ read: async () => value, listen, pollMs: 1, clock: still, signal: stop.signal }))
      seen.push(now)
  })()
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  await turn()
  value = 1
  bells[0]?.()
  await turn()
  ends[0]?.()
  value = 2
  bells[0]?.()
  await turn()
  expect(seen).toEqual([0, 1, 2])
  expect(opened).toBe(2)
  stop.abort()
  await reading
  expect(hungUp).toBe(2)
})
