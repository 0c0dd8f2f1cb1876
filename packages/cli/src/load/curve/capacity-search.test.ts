import { expect, test } from 'vitest'
import { searchCapacity } from './capacity-search.ts'
import { createCurveLoad } from './curve-load.fixture.ts'

const search = async (startRate: number, capacityPerSecond: number) => {
  const { loads, ...result } = await searchCapacity(startRate, async (rate) => createCurveLoad(rate, capacityPerSecond))
  return { ...result, rates: loads.map(({ perSecond }) => perSecond) }
}

test('the rate doubles until the goodput no longer grows by a quarter', async () => {
  expect(await search(1, 6)).toEqual({ capacityPerSecond: 6, rates: [1, 2, 4, 8, 16], isGrowing: false })
  // From 8 to 9.6 the goodput grows by a fifth only.
  expect(await search(2, 9.6)).toEqual({ capacityPerSecond: 9.6, rates: [2, 4, 8, 16], isGrowing: false })
})

test('a search that starts beyond the capacity ends after its second load', async () => {
  expect(await search(40, 6)).toEqual({ capacityPerSecond: 6, rates: [40, 80], isGrowing: false })
})

test('the capacity is the highest goodput, although the market sells less at the last rate', async () => {
  const goodputs = [2, 4, 5.5, 3]
  const { loads, ...result } = await searchCapacity(2, async (rate) => createCurveLoad(rate, goodputs.shift() ?? 0))
  expect(result).toEqual({ capacityPerSecond: 5.5, isGrowing: false })
  expect(loads).toHaveLength(4)
})

test('the search ends at the highest rate, at a load without a sale, and after Ctrl-C', async () => {
  expect(await search(300, 5000)).toEqual({ capacityPerSecond: 600, rates: [300, 600], isGrowing: true })
  expect(await search(2, 0)).toMatchObject({ capacityPerSecond: 0, rates: [2] })
  const { loads } = await searchCapacity(2, async (rate) => createCurveLoad(rate, 100, { endedBy: 'interrupt' }))
  expect(loads).toHaveLength(1)
})
