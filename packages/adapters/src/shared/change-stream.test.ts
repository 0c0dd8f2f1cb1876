import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import { streamChanges } from './change-stream.ts'

/** A clock that ends every sleep at once, so that the stream polls without a delay. */
const clock = { now: () => 0, monotonicMs: () => 0, sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) }
/** A clock whose sleeps never end, so that the stream never polls. */
const neverPolling = { now: () => 0, monotonicMs: () => 0, sleep: () => new Promise<void>(() => undefined) }

test('a change stream yields the present state and then each change once, and ends with the signal', async () => {
  const states: (string | undefined)[] = [undefined, 'open', 'open', 'held', 'held', 'settled']
  const stop = new AbortController()
  const received: string[] = []
  for await (const state of streamChanges({ read: async () => states.shift(), pollMs: 1, clock, signal: stop.signal })) {
    received.push(state)
    if (state === 'settled') stop.abort()
  }
  expect(received).toEqual(['open', 'held', 'settled'])
})

test('a read that throws a Fault is repeated at the next poll, and any other error ends the stream', async () => {
  const answers = [new Fault('away'), 1n, new Error('a bug')]
  const read = async (): Promise<bigint | undefined> => {
    const answer = answers.shift()
    if (answer instanceof Error) throw answer
    return answer
  }
  const received: bigint[] = []
  const reading = (async () => {
    for await (const value of streamChanges({ read, pollMs: 1, clock, signal: new AbortController().signal }))
      received.push(value)
  })()
  await expect(reading).rejects.toThrow('a bug')
  expect(received).toEqual([1n])
})

test('a notification triggers a read, an ended subscription is replaced, and the end of the stream closes it', async () => {
  let value = 0
  let opened = 0
  let closedCount = 0
  const notifiers: (() => void)[] = []
  const ends: (() => void)[] = []
  const listen = (notify: () => void, ended: () => void) => {
    opened++
    notifiers.push(notify)
    ends.push(ended)
    return () => void closedCount++
  }
  const stop = new AbortController()
  const received: number[] = []
  const reading = (async () => {
    for await (const now of streamChanges({
      read: async () => value,
      listen,
      pollMs: 1,
      clock: neverPolling,
      signal: stop.signal,
    }))
      received.push(now)
  })()
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  await turn()
  value = 1
  notifiers[0]?.()
  await turn()
  ends[0]?.()
  value = 2
  notifiers[0]?.()
  await turn()
  expect(received).toEqual([0, 1, 2])
  expect(opened).toBe(2)
  stop.abort()
  await reading
  expect(closedCount).toBe(2)
})
