import { expect, test } from 'vitest'
import {
  E,
  sampleEvidence,
  settlementFact,
  ORDER_ID,
  OUTPOINT,
  settlementWantedFact,
  stateAfter,
  stranger,
  heldHistory,
  registeredHistory,
} from '../../samples.fixture.ts'
import type { Settlement } from '../../state.ts'
import { newGuardState } from './guard-state.ts'
import { earlyProofJob } from './early-proof.ts'
import { guardJob } from './guard.ts'
import { tipAt, failWithFault, runGuardRound } from './guard-round.fixture.ts'

const state = stateAfter(...registeredHistory)
const output = () => Promise.resolve({ ...sampleEvidence().output, valueSat: 1_000_000n })
/** A guard state with one hold in its snapshot. */
const guardStateSeeing = (hold: Settlement) => {
  const keeping = newGuardState()
  keeping.snapshot.last = { orders: new Map([[ORDER_ID, hold]]), height: 901, node: undefined, unread: 0, at: null }
  return keeping
}
/** @returns the commands for a hold at height 901, and the number of probes for it */
async function runEarlyProof(change: Partial<Parameters<typeof runGuardRound>[1]> = {}, reached = true) {
  const [probes, errors] = [[] as number[], [] as unknown[]]
  const probe = () => Promise.resolve({ reached: probes.push(1) > 0 && reached })
  const scenario = { state, tip: tipAt(901), nodeHeight: 901, output, probe, keeping: guardStateSeeing(state), errors, ...change }
  const commands = await runGuardRound(earlyProofJob, { pubkey: `${state.hold.request?.node}`, ...scenario })
  expect(errors).toEqual([])
  return { said: commands, probes: probes.length }
}

test('a peer proof at the first confirmation is recorded before the order requests the settlement', async () => {
  const ids: string[] = []
  const { said: commands } = await runEarlyProof({ ids })
  expect(commands).toMatchObject([
    { type: 'Guard', data: { height: 901, outpoint: OUTPOINT, nodeReady: true, evidence: { probe: 'reached' } } },
  ])
  // The guard's command for the same block has a different id.
  const due = stateAfter(...registeredHistory, settlementWantedFact)
  await runGuardRound(guardJob, { state: due, tip: tipAt(901), nodeHeight: 901, output, probe: () => Promise.resolve({}), ids })
  expect(new Set(ids).size).toBe(2)
})

test('no command is sent without a proof', async () => {
  expect(await runEarlyProof({}, false)).toEqual({ said: [], probes: 1 })
  expect(await runEarlyProof({ output: () => Promise.resolve(undefined) })).toEqual({ said: [], probes: 0 })
  expect(await runEarlyProof({ output: failWithFault })).toEqual({ said: [], probes: 0 })
})

test('no probe is sent if the connected node is offline, is not ready, or is not the order’s node', async () => {
  for (const change of [{ isNew: true }, { nodeHeight: null }, { pubkey: stranger }])
    expect(await runEarlyProof(change)).toEqual({ said: [], probes: 0 })
})

test('no probe is sent if the proof is recorded, the guard gathers it, or no outpoint is recorded', async () => {
  const proven = settlementFact('PeerProven', { outpoint: OUTPOINT, peer: 'probe', height: 901 })
  const states = [[...registeredHistory, proven], [...registeredHistory, settlementWantedFact], heldHistory].map((facts) =>
    stateAfter(...facts),
  )
  for (const settlement of states)
    expect(await runEarlyProof({ state: settlement, keeping: guardStateSeeing(settlement) })).toEqual({ said: [], probes: 0 })
  expect(await runEarlyProof({ tip: tipAt(E - 24) })).toEqual({ said: [], probes: 0 })
  // The snapshot of the guard may be older than the stream.
  for (const settlement of states) expect(await runEarlyProof({ state: settlement })).toEqual({ said: [], probes: 0 })
  expect(await runEarlyProof({ keeping: newGuardState() })).toEqual({ said: [], probes: 0 })
})

test('no proof is recorded through a node that restarted during the probe', async () => {
  let infoCalls = 0
  const info = (synced: boolean) => ({ pubkey: `${state.hold.request?.node}`, height: 901, synced, graphSynced: synced })
  expect(await runEarlyProof({ info: () => Promise.resolve(info(++infoCalls === 1)) })).toEqual({ said: [], probes: 1 })
  expect(infoCalls).toBe(2)
})
