import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import { createSeededRandom } from '../random.ts'
import { type ClusterFault, planClusterFaults, findMissingClusterCoverage } from './fault-plan.ts'
import { standardClusterRoundSize } from './round-size.ts'

const SEED = 1

test('planClusterFaults gives the same faults for the same seed, and every kind of fault', () => {
  const extent = { ...standardClusterRoundSize, frozenService: 'settlement' } as const
  const faults = planClusterFaults(createSeededRandom(SEED), extent)
  expect(planClusterFaults(createSeededRandom(SEED), extent)).toEqual(faults)
  const sold = { VALID_CHANNEL_OPENING: 1 }
  expect(findMissingClusterCoverage([{ injected: faults, statuses: sold }])).toEqual([])
  const withoutFreeze = faults.filter(({ kind }) => kind !== 'freeze')
  expect(findMissingClusterCoverage([{ injected: withoutFreeze, statuses: sold }])).toEqual([
    expect.stringMatching(/settlement that is frozen/),
  ])
  expect(findMissingClusterCoverage([{ injected: [], statuses: {} }])).toHaveLength(10)
})

test('planClusterFaults plans no second fault for the process that it freezes', () => {
  for (let index = 0; index < 500; index++) {
    const faults = planClusterFaults(createSeededRandom(SEED + index), {
      ...standardClusterRoundSize,
      frozenService: 'settlement',
    })
    const frozen = faults.find(({ kind }) => kind === 'freeze')
    assert.ok(frozen?.kind === 'freeze')
    const isHit = (fault: ClusterFault): boolean =>
      fault !== frozen && 'name' in fault && fault.name === frozen.name && (!('index' in fault) || fault.index === frozen.index)
    expect(faults.filter(isHit)).toEqual([])
  }
})
