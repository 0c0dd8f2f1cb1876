import { expect, test } from 'vitest'
import { type Ground, miningOn } from './mining.ts'

/** A chain at height 100 and a market that decides `after` looks at the height that is the last one for a payment. */
function world(held: Readonly<Record<string, number>> = {}, { after = 3, silentFor = 0, endsAfter = Infinity } = {}) {
  let [now, height, looks, isMaking] = [0, 100, 0, false]
  const waiting = new Map(Object.entries(held))
  const made: number[] = []
  const ground: Ground = {
    height: async () => height,
    async make(blocks) {
      if (made.length >= endsAfter) throw new Error('btcd does not answer now')
      if (isMaking) throw new Error('Server is already CPU mining')
      isMaking = true
      await Promise.resolve()
      isMaking = false
      made.push(blocks)
      height += blocks
    },
    inStep: async () => undefined,
    async waiting() {
      if (now < silentFor) throw new Error('14 UNAVAILABLE')
      for (const [hash, ends] of waiting) if (ends - 24 <= height && ++looks >= after) waiting.delete(hash)
      return [...waiting].map(([paymentHash, expiryHeight]) => ({ paymentHash, expiryHeight }))
    },
  }
  const clock = {
    now: () => now,
    monotonicMs: () => now,
    // A limit on an answer is not waited for: it would go off before the answer.
    sleep: (ms: number, signal?: AbortSignal) =>
      signal ? new Promise<void>(() => undefined) : Promise.resolve(void (now += ms)),
  }
  return { mine: miningOn(ground, clock), made, now: () => now, height: () => height }
}

test('where nothing is held blocks are made at once', async () => {
  const { mine, made, now } = world()
  await mine(6)
  expect([made, now()]).toEqual([[6], 0])
  await mine(250)
  expect(made).toEqual([6, 100, 100, 50])
})

test('where a held payment has to be decided, the next block waits until it is gone', async () => {
  const { mine, made, now } = world({ a: 154, b: 160 })
  await mine(90)
  expect(made).toEqual([30, 6, 54])
  expect(now()).toBeGreaterThan(0)
})

test('the last of the blocks too is followed by the decision', async () => {
  const { mine, now } = world({ a: 154 })
  await mine(30)
  expect(now()).toBe(100)
})

test('a payment that nobody decides is waited for once, and the blocks are made', async () => {
  const { mine, made, now } = world({ a: 154 }, { after: Infinity })
  await mine(90)
  expect([made, now()]).toEqual([[30, 60], 20_000])
  await mine(1)
  expect(now()).toBe(20_000)
})

test('a node that is down gets its time to come back', async () => {
  const { mine, made, now } = world({ a: 154 }, { silentFor: 3000 })
  await mine(90)
  expect(made).toEqual([30, 60])
  expect(now()).toBe(3100)
})

test('a node that stays away holds no blocks up for ever', async () => {
  const { mine, made, now } = world({}, { silentFor: Infinity })
  await mine(90)
  await mine(1)
  expect([made, now()]).toEqual([[90, 1], 20_000])
})

test('who asks meanwhile has the next turn', async () => {
  const { mine, height } = world()
  await Promise.all([mine(1), mine(2), mine(3)])
  expect(height()).toBe(106)
})

test('a chain that ends meanwhile is told with the blocks that there are', async () => {
  const { mine } = world({}, { endsAfter: 1 })
  await expect(mine(150)).rejects.toThrow('100 of 150 blocks are made: btcd does not answer now. Ask for the rest in a moment.')
})
