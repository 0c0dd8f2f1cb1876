import { describe, expect, it } from 'vitest'
import { Fault } from '@penstock/kernel/result.ts'
import { openSimnet } from '../simnet/simnet.ts'
import { engine } from './engine.ts'
import type { FaultPlan } from './faults.ts'
import type { Death } from './mortal.ts'
import { seededLeases } from './leases.ts'
import { chainFor, lightningFor } from './outside.ts'

const HASH = 'ab'.repeat(32)
const REQUEST = { paymentHash: HASH, amountMsat: 1000n, cltvDelta: 40, expirySeconds: 600, description: 'a hold' }

function world(plan: FaultPlan, diesAt?: Death) {
  const { schedule, born, faults } = engine({ seed: 'outside', plan })
  const random = schedule.random.fork('network').bytes
  const simnet = openSimnet({ path: ':memory:', blockSeconds: 0, clock: schedule.clock, random })
  const process = born('settlement', diesAt && { diesAt })
  return {
    schedule,
    faults,
    process,
    simnet,
    node: lightningFor(process, simnet.lightning('market')),
    chain: chainFor(process, simnet.chain()),
    /** @returns what became of a call */
    settled: async (call: Promise<unknown>): Promise<PromiseSettledResult<unknown> | undefined> => {
      let result: PromiseSettledResult<unknown> | undefined
      void Promise.allSettled([call]).then(([only]) => (result = only))
      await schedule.run()
      return result
    },
  }
}

/** Notes what a watch says. */
async function note<T>(items: AsyncIterable<T>, seen: (T | 'ended' | 'failed')[]): Promise<void> {
  try {
    for await (const item of items) seen.push(item)
    seen.push('ended')
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    seen.push('failed')
  }
}

describe('a call to the outside', () => {
  for (const [kind, isThere] of [
    ['lightningFault', false],
    ['lightningUnknown', true],
  ] as const)
    it(`that meets ${kind} fails and has${isThere ? '' : ' not'} been carried out`, async () => {
      const { settled, node, simnet, faults } = world({ [kind]: 1 })
      const answer = await settled(node.holds.create(REQUEST))
      expect(answer).toMatchObject({ status: 'rejected', reason: expect.any(Fault) as unknown })
      expect(simnet.control.invoiceStatus('market', HASH)).toEqual(isThere ? { state: 'OPEN' } : undefined)
      expect(faults.counts()).toEqual({ [kind]: 1 })
      faults.off()
      expect(await settled(node.holds.create(REQUEST))).toMatchObject({ status: 'fulfilled' })
    })
  it('of a process that dies before its answer is carried out all the same', async () => {
    const { settled, node, simnet, process } = world({}, { point: 'lightning.holds.create', when: 'after', visit: 1 })
    expect(await settled(node.holds.create(REQUEST))).toBeUndefined()
    expect(process.alive()).toBe(false)
    expect(simnet.control.invoiceStatus('market', HASH)).toEqual({ state: 'OPEN' })
  })
})

describe('a watch of the outside', () => {
  it('breaks off, goes silent or repeats itself as it was told to', async () => {
    for (const [plan, expected] of [
      [{}, ['open', 'cancelled']],
      [{ watchCut: 1 }, ['failed']],
      [{ watchSilent: 1 }, []],
      [{ watchRepeat: 1 }, ['open', 'open', 'cancelled', 'cancelled']],
    ] as const) {
      const { settled, node, schedule } = world(plan)
      await settled(node.holds.create(REQUEST))
      const seen: unknown[] = []
      const states = async function* () {
        for await (const { state } of node.holds.changes(HASH, new AbortController().signal)) yield state
      }
      void note<string>(states(), seen as string[])
      await schedule.run()
      await settled(node.holds.cancel(HASH))
      expect(seen).toEqual(expected)
    }
  })
  it('tells the newest tip, and ends with its signal alone', async () => {
    const { schedule, chain, simnet, process } = world({ watchCut: 1, chainFault: 1 })
    const [stop, kept] = [new AbortController(), new AbortController()]
    const heights = async function* (signal: AbortSignal) {
      for await (const { height } of chain.tips(signal)) yield height
    }
    const [first, second]: (number | 'ended' | 'failed')[][] = [[], []]
    void note(heights(stop.signal), first ?? [])
    void note(heights(kept.signal), second ?? [])
    await schedule.run()
    const height = simnet.control.mine(5)
    await schedule.run()
    expect(first?.at(-1)).toBe(height)
    stop.abort()
    await schedule.run()
    expect(first?.at(-1)).toBe('ended')
    process.kill()
    simnet.control.mine(1)
    kept.abort()
    await schedule.run()
    expect(second?.at(-1)).toBe(height)
  })
})

describe('a lease', () => {
  it('may be held by whoever was told nothing, and runs out by virtual time', async () => {
    const { settled, process, schedule, faults } = world({ leaseUnknown: 1 })
    const leases = seededLeases(schedule)
    const mine = leases.of(process)
    expect(await settled(mine.hold('relay', 'a', 60_000))).toMatchObject({ status: 'rejected' })
    faults.off()
    expect(await settled(mine.hold('relay', 'b', 1000))).toEqual({ status: 'fulfilled', value: false })
    await settled(schedule.clock.sleep(60_000))
    expect(await settled(mine.hold('relay', 'b', 1000))).toEqual({ status: 'fulfilled', value: true })
  })
})
