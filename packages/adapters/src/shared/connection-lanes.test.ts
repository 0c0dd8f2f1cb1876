import { Fault } from '@penstock/kernel/result.ts'
import { runWithLowPriority, runWithRegularPriority } from '@penstock/runtime/commands/low-priority.ts'
import { expect, test } from 'vitest'
import { createConnectionLanes } from './connection-lanes.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('low-priority work waits in order for a place, and other work never waits', async () => {
  const lanes = createConnectionLanes(2, 60_000)
  const leaves: (() => void)[] = []
  const enterLow = () => runWithLowPriority(() => lanes.enter()).then((leave) => void leaves.push(leave))
  const entering = [enterLow(), enterLow(), enterLow(), enterLow()]
  await turn()
  expect(leaves).toHaveLength(2)
  for (let n = 0; n < 5; n++) await lanes.enter()
  await runWithLowPriority(() => runWithRegularPriority(() => lanes.enter()))
  leaves[0]?.()
  await turn()
  expect(leaves).toHaveLength(3)
  leaves[1]?.()
  await Promise.all(entering)
  expect(leaves).toHaveLength(4)
})

test('low-priority work without a place fails in time, and gives no place back', async () => {
  const lanes = createConnectionLanes(1, 5)
  const leave = await runWithLowPriority(() => lanes.enter())
  await expect(runWithLowPriority(() => lanes.enter())).rejects.toThrow(Fault)
  leave()
  await runWithLowPriority(() => lanes.enter())
  await expect(runWithLowPriority(() => lanes.enter())).rejects.toThrow(Fault)
})
