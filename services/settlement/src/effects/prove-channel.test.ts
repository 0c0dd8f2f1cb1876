import type { EvidenceData, SettlementFact } from '@penstock/contracts/settlement.ts'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { EvidencePorts } from '@penstock/channel-proof/gather-evidence.ts'
import { expect, test } from 'vitest'
import {
  E,
  sampleEvidence,
  settlementFact,
  outpointRegisteredFact,
  registeredOutpoint,
  seller,
  settlementWantedFact,
  stateAfter,
  heldHistory,
  registeredHistory,
  settledHistory,
} from '../samples.fixture.ts'
import { mayProofAppear, observeOnceAnnounced } from './prove-channel.ts'

const channel = {
  capacitySat: 1_000_000n,
  nodes: [seller, registeredOutpoint.terms.buyerPubkey],
  shortChannelId: '901x1x0',
  policies: [],
}
/** Evidence at the sixth confirmation, without an announcement. */
const before = sampleEvidence({ tipHeight: 906, graph: null, probe: 'not-tried' })

type GraphScenario = {
  /** Answers of our graph, one per query. */
  readonly graph: readonly (() => Promise<object | undefined>)[]
  readonly tipHeight?: number
}

const yes = () => Promise.resolve(channel)
const no = () => Promise.resolve(undefined)
const fails = (error: Error) => () => Promise.reject(error)

async function observe(
  { graph, tipHeight = 907 }: GraphScenario,
  hold = stateAfter(...registeredHistory, settlementWantedFact).hold,
  seen: EvidenceData = before,
) {
  const pauses: number[] = []
  const left = [...graph]
  const ports = {
    clock: {
      now: () => pauses.reduce((sum, ms) => sum + ms, 0),
      monotonicMs: () => pauses.reduce((sum, ms) => sum + ms, 0),
      // A longer sleep is a timeout, not a pause.
      sleep: (ms: number) => (ms < 1000 ? Promise.resolve(void pauses.push(ms)) : new Promise<void>(() => undefined)),
    },
    chain: {
      sees: { mempool: true },
      tip: () => Promise.resolve({ height: tipHeight }),
      output: () => Promise.resolve({ ...sampleEvidence().output, valueSat: 1_000_000n }),
    },
    lightning: {
      graph: { channel: () => (left.shift() ?? no)(), between: () => Promise.resolve([]) },
    },
  } as unknown as EvidencePorts // only what the test calls is there
  return { found: await observeOnceAnnounced(ports, hold, seen), pauses }
}

test('an announcement that arrives meanwhile is returned with newly gathered evidence', async () => {
  const { found, pauses } = await observe({ graph: [no, yes, yes] })
  expect(found).toMatchObject({
    evidence: { tipHeight: 907, graph: { shortChannelId: '901x1x0' }, output: { height: 901 } },
    observedAt: 50,
  })
  expect(pauses).toEqual([0, 50])
})

test('a missing announcement, or a node that stops answering, adds no evidence', async () => {
  expect(await observe({ graph: [] })).toEqual({ found: undefined, pauses: [0, 50, 100, 150, 300] })
  expect((await observe({ graph: [no, fails(new Fault('no answer'))] })).found).toBeUndefined()
  expect((await observe({ graph: [yes, fails(new Fault('no answer'))] })).found).toBeUndefined()
  expect((await observe({ graph: [yes, yes], tipHeight: 905 })).found).toBeUndefined()
  await expect(observe({ graph: [fails(new Bug('a mistake of ours'))] })).rejects.toThrow('a mistake of ours')
})

test('the effect does not wait if other evidence is missing, or if no announcement will arrive', async () => {
  const secret = settlementFact('OutpointRegistered', {
    ...registeredOutpoint,
    terms: { ...registeredOutpoint.terms, isPrivate: true },
  })
  const graph = [yes, yes]
  const nothing = { found: undefined, pauses: [] }
  expect(await observe({ graph }, stateAfter(...heldHistory, secret, settlementWantedFact).hold)).toEqual(nothing)
  expect(await observe({ graph }, stateAfter(...heldHistory).hold)).toEqual(nothing)
  expect(await observe({ graph }, stateAfter(...settledHistory).hold)).toEqual(nothing)
  for (const height of [900, 902, 905]) {
    const seen = sampleEvidence({ tipHeight: 906, graph: null, probe: 'not-tried' }, { height })
    expect(await observe({ graph }, undefined, seen)).toEqual(nothing)
  }
  expect(await observe({ graph }, undefined, sampleEvidence())).toEqual(nothing)
})

test('a peer proof may still appear up to E - 18 for a channel in a block, unless the seller needs no peer proof', () => {
  const chainOnly = sampleEvidence({ graph: null })
  const hold = (...facts: readonly SettlementFact[]) => stateAfter(...heldHistory, ...facts).hold
  const rails = settlementFact('OutpointRegistered', {
    ...registeredOutpoint,
    terms: { ...registeredOutpoint.terms, rails: true },
  })
  const tried = (reached: boolean) => settlementFact('BuyerReachTried', { height: E - 24, reached, reason: 'x' })
  expect(mayProofAppear(hold(outpointRegisteredFact), chainOnly, E - 19)).toBe(true)
  expect(mayProofAppear(hold(outpointRegisteredFact), chainOnly, E - 18)).toBe(false)
  expect(mayProofAppear(hold(rails, tried(true)), chainOnly, E - 24)).toBe(true)
  expect(mayProofAppear(hold(rails, tried(false)), chainOnly, E - 24)).toBe(false)
  expect(mayProofAppear(hold(outpointRegisteredFact), sampleEvidence(), E - 24)).toBe(false)
  expect(mayProofAppear(hold(outpointRegisteredFact), { ...chainOnly, probe: 'reached' }, E - 24)).toBe(false)
  expect(mayProofAppear(hold(outpointRegisteredFact), { ...chainOnly, output: null }, E - 24)).toBe(false)
})
