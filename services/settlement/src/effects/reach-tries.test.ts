import { given } from '@penstock/testkit/given.ts'
import { expect, test } from 'vitest'
import {
  attestation,
  E,
  evidence,
  fact,
  type guard,
  limit,
  node,
  noted,
  proof,
  stateAfter,
  toHeld,
  toNoted,
} from '../samples.contract.ts'
import { settlement } from '../settlement.ts'
import { custody } from './custody.ts'
import { guardJob } from './guard.ts'
import { at, round, silent } from './guard-round.contract.ts'

test('a buyer that keeps our probe gets no channel for free: what the seller signed counts', async () => {
  const rails = fact('OutpointNoted', { ...noted, attestation, terms: { ...noted.terms, rails: true } })
  const state = stateAfter(...toHeld, rails)
  const output = () => Promise.resolve({ ...evidence().output, valueSat: 1_000_000n })
  const keeping = custody()
  const world = { state, tip: at(E - 24), output, probe: silent, pubkey: node, keeping }
  await round(guardJob, world)
  const [triedNow, word] = await round(guardJob, { ...world, now: 30_000 })
  const unreached = fact('BuyerReachTried', { height: E - 24, reached: false, reason: 'x' })
  expect(triedNow).toMatchObject({ type: 'RecordReachTry', data: { height: E - 24, reached: false } })
  expect(word).toMatchObject({ type: 'Guard', data: { evidence: { output: { height: 901 }, probe: 'not-reached' } } })
  given(settlement, ...toHeld, rails, unreached)
    // The guard's own word, as it was said.
    .when({ type: 'Guard', data: { ...(word?.data as ReturnType<typeof guard>['data']), ...limit } })
    .then(
      fact('SettleRequested', {
        proof: { ...proof, tipHeight: E - 24, confirmations: 76, peer: null, withheld: true },
        lastHeight: true,
      }),
    )
})

test('from three blocks before the last height on our node tries to reach the buyer of a rails seller', async () => {
  const rails = fact('OutpointNoted', { ...noted, terms: { ...noted.terms, rails: true } })
  const state = stateAfter(...toHeld, rails)
  const output = () => Promise.resolve({ ...evidence().output, valueSat: 1_000_000n })
  expect(await round(guardJob, { state, tip: at(E - 28), output, pubkey: node })).toEqual([])
  const tries: string[] = []
  expect(await round(guardJob, { state, tip: at(E - 27), output, answers: true, tries, pubkey: node })).toEqual([
    { type: 'RecordReachTry', data: { height: E - 27, reached: true, reason: 'The node answers at buyer.sim:9735.' } },
  ])
  expect(tries).toEqual(['buyer.sim:9735'])
  expect(await round(guardJob, { state: stateAfter(...toNoted), tip: at(E - 27), output, pubkey: node })).toEqual([])
})

test('a peer proof that is missing at the last height may still come within the block', async () => {
  const output = () => Promise.resolve({ ...evidence().output, valueSat: 1_000_000n })
  const world = { state: stateAfter(...toNoted), output, keeping: custody() }
  const isReadyAt = async (height: number, now: number, more: Partial<Parameters<typeof round>[1]> = {}) => {
    const [word] = await round(guardJob, { ...world, tip: at(height), now, ...more })
    if (word?.type !== 'Guard') throw new Error('the guard said nothing')
    return (word.data as ReturnType<typeof guard>['data']).nodeReady
  }
  expect(await isReadyAt(E - 24, 0)).toBe(false)
  expect(await isReadyAt(E - 24, 29_999)).toBe(false)
  expect(await isReadyAt(E - 24, 29_999, { probe: () => Promise.resolve({ reached: true }) })).toBe(true)
  expect(await isReadyAt(E - 24, 30_000)).toBe(true)
  // From E − 18 on nothing is waited for.
  expect(await isReadyAt(E - 18, 0, { keeping: custody() })).toBe(true)
  const rails = fact('OutpointNoted', { ...noted, terms: { ...noted.terms, rails: true } })
  const unreached = fact('BuyerReachTried', { height: E - 24, reached: false, reason: 'x' })
  const believed = stateAfter(...toHeld, rails, unreached)
  expect(await isReadyAt(E - 24, 0, { keeping: custody(), state: believed })).toBe(true)
  // The next block ends the wait, and nothing can prove what no block has.
  expect(await isReadyAt(E - 23, 1)).toBe(true)
  const nowhere = () => Promise.resolve(undefined)
  expect(await isReadyAt(E - 24, 0, { keeping: custody(), output: nowhere })).toBe(true)
})

test('a replica that reaches the buyer is heard, though another one failed to at the same block', async () => {
  const rails = fact('OutpointNoted', { ...noted, terms: { ...noted.terms, rails: true } })
  const state = stateAfter(...toHeld, rails)
  const output = () => Promise.resolve({ ...evidence().output, valueSat: 1_000_000n })
  const ids: string[] = []
  for (const answers of [false, true, true]) await round(guardJob, { state, tip: at(E - 27), output, answers, pubkey: node, ids })
  const [failed, reached, again] = ids
  expect(reached).not.toBe(failed)
  expect(again).toBe(reached)
})
