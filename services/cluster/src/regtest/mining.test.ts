import { expect, test } from 'vitest'
import { type MiningState, createMiner } from './mining.ts'

/** A chain at height 100, and a market that decides a payment after `after` polls at the payment's last height. */
function openChain(held: Readonly<Record<string, number>> = {}, { after = 3, silentFor = 0, endsAfter = Infinity } = {}) {
  let [now, height, polls, isMaking] = [0, 100, 0, false]
  const waiting = new Map(Object.entries(held))
  const made: number[] = []
  const state: MiningState = {
    height: async () => height,
    async mineBlocks(blocks) {
      if (made.length >= endsAfter) throw new Error('btcd does not answer now')
      if (isMaking) throw new Error('Server is already CPU mining')
      isMaking = true
      await Promise.resolve()
      isMaking = false
      made.push(blocks)
      height += blocks
    },
    waitUntilInSync: async () => undefined,
    async listWaitingHtlcs() {
      if (now < silentFor) throw new Error('14 UNAVAILABLE')
      for (const [hash, ends] of waiting) if (ends - 24 <= height && ++polls >= after) waiting.delete(hash)
      return [...waiting].map(([paymentHash, expiryHeight]) => ({ paymentHash, expiryHeight }))
    },
  }
  const clock = {
    now: () => now,
    monotonicMs: () => now,
    // A sleep with a signal is the timeout of an answer. It never ends here, because it would fire before the answer.
    sleep: (ms: number, signal?: AbortSignal) =>
      signal ? new Promise<void>(() => undefined) : Promise.resolve(void (now += ms)),
  }
  return { mine: createMiner(state, clock), made, now: () => now, height: () => height }
}

test('blocks are mined at once if no payment is held', async () => {
  const { mine, made, now } = openChain()
  await mine(6)
  expect([made, now()]).toEqual([[6], 0])
  await mine(250)
  expect(made).toEqual([6, 100, 100, 50])
})

test('the next block waits until an overdue payment is decided', async () => {
  const { mine, made, now } = openChain({ a: 154, b: 160 })
  await mine(90)
  expect(made).toEqual([30, 6, 54])
  expect(now()).toBeGreaterThan(0)
})

test('the miner waits for a decision after the last block too', async () => {
  const { mine, now } = openChain({ a: 154 })
  await mine(30)
  expect(now()).toBe(100)
})

test('the miner waits once for a payment that is never decided, and mines the blocks', async () => {
  const { mine, made, now } = openChain({ a: 154 }, { after: Infinity })
  await mine(90)
  expect([made, now()]).toEqual([[30, 60], 20_000])
  await mine(1)
  expect(now()).toBe(20_000)
})

test('the miner waits for a node that is down', async () => {
  const { mine, made, now } = openChain({ a: 154 }, { silentFor: 3000 })
  await mine(90)
  expect(made).toEqual([30, 60])
  expect(now()).toBe(3100)
})

test('a node that stays down delays blocks for 20 s in total', async () => {
  const { mine, made, now } = openChain({}, { silentFor: Infinity })
  await mine(90)
  await mine(1)
  expect([made, now()]).toEqual([[90, 1], 20_000])
})

test('concurrent calls mine one after another', async () => {
  const { mine, height } = openChain()
  await Promise.all([mine(1), mine(2), mine(3)])
  expect(height()).toBe(106)
})

test('if the chain stops answering, the error contains the number of mined blocks', async () => {
  const { mine } = openChain({}, { endsAfter: 1 })
  await expect(mine(150)).rejects.toThrow('100 of 150 blocks are made: btcd does not answer now. Ask for the rest in a moment.')
})
