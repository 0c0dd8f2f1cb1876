import { given } from '@penstock/testkit/given.ts'
import { expect, test } from 'vitest'
import {
  sampleAttestation,
  E,
  sampleEvidence,
  settlementFact,
  type guardCommand,
  sampleFeeLimit,
  node,
  registeredOutpoint,
  proof,
  stateAfter,
  heldHistory,
  registeredHistory,
} from '../../samples.fixture.ts'
import { settlementDecider } from '../../settlement.decide.ts'
import { newGuardState } from './guard-state.ts'
import { guardJob } from './guard.ts'
import { tipAt, runGuardRound, neverAnswer } from './guard-round.fixture.ts'

test('a hold is settled although its buyer holds our probe, because the attestation of a rails seller counts', async () => {
  const rails = settlementFact('OutpointRegistered', {
    ...registeredOutpoint,
    attestation: sampleAttestation,
    terms: { ...registeredOutpoint.terms, rails: true },
  })
  const state = stateAfter(...heldHistory, rails)
  const output = () => Promise.resolve({ ...sampleEvidence().output, valueSat: 1_000_000n })
  const keeping = newGuardState()
  const scenario = { state, tip: tipAt(E - 24), output, probe: neverAnswer, pubkey: node, keeping }
  await runGuardRound(guardJob, scenario)
  const [triedNow, command] = await runGuardRound(guardJob, { ...scenario, now: 30_000 })
  const unreached = settlementFact('BuyerReachTried', { height: E - 24, reached: false, reason: 'x' })
  expect(triedNow).toMatchObject({ type: 'RecordReachTry', data: { height: E - 24, reached: false } })
  expect(command).toMatchObject({ type: 'Guard', data: { evidence: { output: { height: 901 }, probe: 'not-reached' } } })
  given(settlementDecider, ...heldHistory, rails, unreached)
    // The guard's own command.
    .when({ type: 'Guard', data: { ...(command?.data as ReturnType<typeof guardCommand>['data']), ...sampleFeeLimit } })
    .then(
      settlementFact('SettlementStarted', {
        proof: { ...proof, tipHeight: E - 24, confirmations: 76, peer: null, withheld: true },
        lastHeight: true,
      }),
    )
})

test('our node tries to reach the buyer of a rails seller from three blocks before the last height on', async () => {
  const rails = settlementFact('OutpointRegistered', {
    ...registeredOutpoint,
    terms: { ...registeredOutpoint.terms, rails: true },
  })
  const state = stateAfter(...heldHistory, rails)
  const output = () => Promise.resolve({ ...sampleEvidence().output, valueSat: 1_000_000n })
  expect(await runGuardRound(guardJob, { state, tip: tipAt(E - 28), output, pubkey: node })).toEqual([])
  const tries: string[] = []
  expect(await runGuardRound(guardJob, { state, tip: tipAt(E - 27), output, answers: true, tries, pubkey: node })).toEqual([
    { type: 'RecordReachTry', data: { height: E - 27, reached: true, reason: 'The node answers at buyer.sim:9735.' } },
  ])
  expect(tries).toEqual(['buyer.sim:9735'])
  expect(
    await runGuardRound(guardJob, { state: stateAfter(...registeredHistory), tip: tipAt(E - 27), output, pubkey: node }),
  ).toEqual([])
})

test('a peer proof that is missing at the last height may still appear before the next block', async () => {
  const output = () => Promise.resolve({ ...sampleEvidence().output, valueSat: 1_000_000n })
  const scenario = { state: stateAfter(...registeredHistory), output, keeping: newGuardState() }
  const isReadyAt = async (height: number, now: number, more: Partial<Parameters<typeof runGuardRound>[1]> = {}) => {
    const [command] = await runGuardRound(guardJob, { ...scenario, tip: tipAt(height), now, ...more })
    if (command?.type !== 'Guard') throw new Error('the guard sent no command')
    return (command.data as ReturnType<typeof guardCommand>['data']).nodeReady
  }
  expect(await isReadyAt(E - 24, 0)).toBe(false)
  expect(await isReadyAt(E - 24, 29_999)).toBe(false)
  expect(await isReadyAt(E - 24, 29_999, { probe: () => Promise.resolve({ reached: true }) })).toBe(true)
  expect(await isReadyAt(E - 24, 30_000)).toBe(true)
  // From E − 18 on the guard does not wait for a proof.
  expect(await isReadyAt(E - 18, 0, { keeping: newGuardState() })).toBe(true)
  const rails = settlementFact('OutpointRegistered', {
    ...registeredOutpoint,
    terms: { ...registeredOutpoint.terms, rails: true },
  })
  const unreached = settlementFact('BuyerReachTried', { height: E - 24, reached: false, reason: 'x' })
  const believed = stateAfter(...heldHistory, rails, unreached)
  expect(await isReadyAt(E - 24, 0, { keeping: newGuardState(), state: believed })).toBe(true)
  // The next block ends the wait, and a transaction in no block cannot be proven.
  expect(await isReadyAt(E - 23, 1)).toBe(true)
  const nowhere = () => Promise.resolve(undefined)
  expect(await isReadyAt(E - 24, 0, { keeping: newGuardState(), output: nowhere })).toBe(true)
})

test('a replica’s success in reaching the buyer is recorded although another replica failed at the same block', async () => {
  const rails = settlementFact('OutpointRegistered', {
    ...registeredOutpoint,
    terms: { ...registeredOutpoint.terms, rails: true },
  })
  const state = stateAfter(...heldHistory, rails)
  const output = () => Promise.resolve({ ...sampleEvidence().output, valueSat: 1_000_000n })
  const ids: string[] = []
  for (const answers of [false, true, true])
    await runGuardRound(guardJob, { state, tip: tipAt(E - 27), output, answers, pubkey: node, ids })
  const [failed, reached, repeated] = ids
  expect(reached).not.toBe(failed)
  expect(repeated).toBe(reached)
})
