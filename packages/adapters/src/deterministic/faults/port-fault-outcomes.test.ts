import { describe, expect, it } from 'vitest'
import { Fault } from '@penstock/kernel/result.ts'
import { openSimnet } from '../../simnet/simnet.ts'
import { createSimulationEngine } from '../simulation-engine.ts'
import type { FaultPlan } from './fault-injector.ts'
import type { CrashPoint } from './crash-injection.ts'
import { deterministicLeases } from '../leases.ts'
import { withChainFaults, withLightningFaults } from './port-faults.ts'

const HASH = 'ab'.repeat(32)
const REQUEST = { paymentHash: HASH, amountMsat: 1000n, cltvDelta: 40, expirySeconds: 600, description: 'a hold' }

function createFixture(plan: FaultPlan, crashAt?: CrashPoint) {
  const { schedule, startProcess, faults } = createSimulationEngine({ seed: 'outside', plan })
  const random = schedule.random.fork('network').bytes
  const simnet = openSimnet({ path: ':memory:', blockSeconds: 0, clock: schedule.clock, random })
  const process = startProcess('settlement', crashAt && { crashAt })
  return {
    schedule,
    faults,
    process,
    simnet,
    node: withLightningFaults(process, simnet.lightning('market')),
    chain: withChainFaults(process, simnet.chain()),
    /** @returns the outcome of a call; undefined if the call is still pending */
    settled: async (call: Promise<unknown>): Promise<PromiseSettledResult<unknown> | undefined> => {
      let result: PromiseSettledResult<unknown> | undefined
      void Promise.allSettled([call]).then(([outcome]) => (result = outcome))
      await schedule.run()
      return result
    },
  }
}

/** Records the items of a watch, and its end. */
async function recordItems<T>(items: AsyncIterable<T>, seen: (T | 'ended' | 'failed')[]): Promise<void> {
  try {
    for await (const item of items) seen.push(item)
    seen.push('ended')
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    seen.push('failed')
  }
}

describe('a call to an outside service', () => {
  for (const [kind, isThere] of [
    ['lightningFault', false],
    ['lightningUnknown', true],
  ] as const)
    it(`under ${kind} fails and has ${isThere ? 'an' : 'no'} effect`, async () => {
      const { settled, node, simnet, faults } = createFixture({ [kind]: 1 })
      const answer = await settled(node.holds.create(REQUEST))
      expect(answer).toMatchObject({ status: 'rejected', reason: expect.any(Fault) as unknown })
      expect(simnet.control.invoiceStatus('market', HASH)).toEqual(isThere ? { state: 'OPEN' } : undefined)
      expect(faults.counts()).toEqual({ [kind]: 1 })
      faults.disable()
      expect(await settled(node.holds.create(REQUEST))).toMatchObject({ status: 'fulfilled' })
    })
  it('that pays is refused by its node and begins no payment', async () => {
    const { settled, node, simnet, faults } = createFixture({ paymentRefused: 1 })
    const { invoice, payment_hash } = simnet.control.invoice('seller-ada', 1000n, 3600)
    const pay = () => settled(node.payments.pay(invoice, { maxFeeMsat: 1000n, timeoutMs: 1000 }))
    expect(await pay()).toEqual({ status: 'fulfilled', value: { state: 'failed', reason: 'refused' } })
    expect(simnet.control.payment(payment_hash)).toBeUndefined()
    faults.disable()
    expect(await pay()).toMatchObject({ value: { state: 'succeeded' } })
    faults.enable()
    // The node knows this payment, so it does not say that it never began.
    expect(await pay()).toMatchObject({ value: { state: 'succeeded' } })
  })
  it('that reads a held payment does not learn the peer', async () => {
    const { settled, node, simnet, faults } = createFixture({ peerUnnamed: 1 })
    const { status, ...created } = (await settled(node.holds.create(REQUEST))) ?? {}
    expect(status).toBe('fulfilled')
    const { request } = (created as { value: { request: string } }).value // the call is fulfilled
    simnet.control.pay('buyer', request)
    const peers = async () => {
      const found = await settled(node.holds.find(HASH))
      return found?.status === 'fulfilled'
        ? (found.value as { htlcs: { peer: string | null }[] }).htlcs.map(({ peer }) => peer)
        : []
    }
    expect(await peers()).toEqual([null])
    faults.disable()
    expect(await peers()).toEqual([expect.any(String)])
  })
  it('takes effect although its process crashes before the answer', async () => {
    const { settled, node, simnet, process } = createFixture({}, { point: 'lightning.holds.create', when: 'after', visit: 1 })
    expect(await settled(node.holds.create(REQUEST))).toBeUndefined()
    expect(process.isAlive()).toBe(false)
    expect(simnet.control.invoiceStatus('market', HASH)).toEqual({ state: 'OPEN' })
  })
})

describe('a watch of an outside service', () => {
  it('breaks off, stays silent or repeats items under the planned fault', async () => {
    for (const [plan, expected] of [
      [{}, ['open', 'cancelled']],
      [{ watchCut: 1 }, ['failed']],
      [{ watchSilent: 1 }, []],
      [{ watchRepeat: 1 }, ['open', 'open', 'cancelled', 'cancelled']],
    ] as const) {
      const { settled, node, schedule } = createFixture(plan)
      await settled(node.holds.create(REQUEST))
      const seen: unknown[] = []
      const states = async function* () {
        for await (const { state } of node.holds.changes(HASH, new AbortController().signal)) yield state
      }
      void recordItems<string>(states(), seen as string[])
      await schedule.run()
      await settled(node.holds.cancel(HASH))
      expect(seen).toEqual(expected)
    }
  })
  it('yields the newest tip, and ends only with its signal', async () => {
    const { schedule, chain, simnet, process } = createFixture({ watchCut: 1, chainFault: 1 })
    const [stop, kept] = [new AbortController(), new AbortController()]
    const heights = async function* (signal: AbortSignal) {
      for await (const { height } of chain.tips(signal)) yield height
    }
    const [first, second]: (number | 'ended' | 'failed')[][] = [[], []]
    void recordItems(heights(stop.signal), first ?? [])
    void recordItems(heights(kept.signal), second ?? [])
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
  it('may belong to an owner that got no answer, and expires by virtual time', async () => {
    const { settled, process, schedule, faults } = createFixture({ leaseUnknown: 1 })
    const leases = deterministicLeases(schedule)
    const mine = leases.connect(process)
    expect(await settled(mine.acquire('relay', 'a', 60_000))).toMatchObject({ status: 'rejected' })
    faults.disable()
    expect(await settled(mine.acquire('relay', 'b', 1000))).toEqual({ status: 'fulfilled', value: false })
    await settled(schedule.clock.sleep(60_000))
    expect(await settled(mine.acquire('relay', 'b', 1000))).toEqual({ status: 'fulfilled', value: true })
  })
})
