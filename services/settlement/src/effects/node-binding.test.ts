import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import { node, NOW, stateAfter } from '../samples.fixture.ts'
import { fakeNode, ourHoldRequested } from './fake-node.fixture.ts'
import { bindToNode } from './node-binding.ts'

const OTHER_NODE = `03${'77'.repeat(32)}`
const recordCancelled = { type: 'RecordCancelled', data: { at: NOW, unmade: false } } as const

/** Runs an effect while these nodes answer one after the other at the market's node address. */
async function runEffectAt(...pubkeys: readonly string[]) {
  const { context } = fakeNode()
  const left = [...pubkeys]
  const info = async () => ({ ...(await context.ports.lightning.info()), pubkey: left.shift() ?? '' })
  const ports = { ...context.ports, lightning: { ...context.ports.lightning, info } }
  let ran = 0
  const effect = bindToNode(async () => {
    ran += 1
    return recordCancelled
  })
  const outcome = await effect(stateAfter(ourHoldRequested), { ...context, ports }).catch((error: unknown) => error)
  return { ran, outcome }
}

test('the result of an effect counts if the order’s node answers before and after the effect', async () => {
  expect(await runEffectAt(node, node)).toEqual({ ran: 1, outcome: recordCancelled })
})

test('an effect does not begin at another node', async () => {
  const { ran, outcome } = await runEffectAt(OTHER_NODE)
  expect(ran).toBe(0)
  expect(outcome).toBeInstanceOf(Fault)
})

test('the result of an effect does not count if another node answers after the effect', async () => {
  const { ran, outcome } = await runEffectAt(node, OTHER_NODE)
  expect(ran).toBe(1)
  expect(outcome).toBeInstanceOf(Fault)
})
