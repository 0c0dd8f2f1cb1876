import { expect, test } from 'vitest'
import { E, evidence, fact, ORDER, OUTPOINT, settleAsked, stateAfter, stranger, toHeld, toNoted } from '../samples.contract.ts'
import type { Settlement } from '../state.ts'
import { custody } from './custody.ts'
import { earlyProofJob } from './early-proof.ts'
import { guardJob } from './guard.ts'
import { at, away, round } from './guard-round.contract.ts'

const state = stateAfter(...toNoted)
const output = () => Promise.resolve({ ...evidence().output, valueSat: 1_000_000n })
/** A custody whose guard has seen one hold. */
const seeing = (hold: Settlement) => {
  const keeping = custody()
  keeping.sight.last = { orders: new Map([[ORDER, hold]]), height: 901, node: undefined, unread: 0, at: null }
  return keeping
}
/** @returns what is said of a hold at height 901, and how many probes were sent for it */
async function look(change: Partial<Parameters<typeof round>[1]> = {}, reached = true) {
  const [probes, errors] = [[] as number[], [] as unknown[]]
  const probe = () => Promise.resolve({ reached: probes.push(1) > 0 && reached })
  const world = { state, tip: at(901), nodeHeight: 901, output, probe, keeping: seeing(state), errors, ...change }
  const said = await round(earlyProofJob, { pubkey: `${state.hold.request?.node}`, ...world })
  expect(errors).toEqual([])
  return { said, probes: probes.length }
}

test('a buyer that proves its channel at the first confirmation is recorded, before the order wishes to settle', async () => {
  const ids: string[] = []
  const { said } = await look({ ids })
  expect(said).toMatchObject([
    { type: 'Guard', data: { height: 901, outpoint: OUTPOINT, nodeReady: true, evidence: { probe: 'reached' } } },
  ])
  // The guard's own word by the same block is no repetition.
  const asked = stateAfter(...toNoted, settleAsked)
  await round(guardJob, { state: asked, tip: at(901), nodeHeight: 901, output, probe: () => Promise.resolve({}), ids })
  expect(new Set(ids).size).toBe(2)
})

test('nothing is said where nothing is proven', async () => {
  expect(await look({}, false)).toEqual({ said: [], probes: 1 })
  expect(await look({ output: () => Promise.resolve(undefined) })).toEqual({ said: [], probes: 0 })
  expect(await look({ output: away })).toEqual({ said: [], probes: 0 })
})

test('nothing is asked of a node that is not ready, away, or another one', async () => {
  for (const change of [{ isNew: true }, { nodeHeight: null }, { pubkey: stranger }])
    expect(await look(change)).toEqual({ said: [], probes: 0 })
})

test('nothing is looked for that is known, is the guard’s to look for, or is not to be proven', async () => {
  const proven = fact('PeerProven', { outpoint: OUTPOINT, peer: 'probe', height: 901 })
  const others = [[...toNoted, proven], [...toNoted, settleAsked], toHeld].map((facts) => stateAfter(...facts))
  for (const other of others) expect(await look({ state: other, keeping: seeing(other) })).toEqual({ said: [], probes: 0 })
  expect(await look({ tip: at(E - 24) })).toEqual({ said: [], probes: 0 })
  // What the guard saw may be older than the stream.
  for (const other of others) expect(await look({ state: other })).toEqual({ said: [], probes: 0 })
  expect(await look({ keeping: custody() })).toEqual({ said: [], probes: 0 })
})

test('a node that was restarted while the probe was on its way has nothing recorded', async () => {
  let asked = 0
  const info = (synced: boolean) => ({ pubkey: `${state.hold.request?.node}`, height: 901, synced, graphSynced: synced })
  expect(await look({ info: () => Promise.resolve(info(++asked === 1)) })).toEqual({ said: [], probes: 1 })
  expect(asked).toBe(2)
})
