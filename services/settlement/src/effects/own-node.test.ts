import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import { node, NOW, stateAfter } from '../samples.contract.ts'
import { fake, ours } from './fake-node.contract.ts'
import { boundToNode } from './own-node.ts'

const OTHER_NODE = `03${'77'.repeat(32)}`
const told = { type: 'RecordCancelled', data: { at: NOW, unmade: false } } as const

/** An effect that runs once, where these nodes answer one after the other at the market's address. */
async function ranAt(...pubkeys: readonly string[]) {
  const { context } = fake()
  const left = [...pubkeys]
  const info = async () => ({ ...(await context.ports.lightning.info()), pubkey: left.shift() ?? '' })
  const ports = { ...context.ports, lightning: { ...context.ports.lightning, info } }
  let ran = 0
  const effect = boundToNode(async () => {
    ran += 1
    return told
  })
  const outcome = await effect(stateAfter(ours), { ...context, ports }).catch((error: unknown) => error)
  return { ran, outcome }
}

test('what an effect learned counts where its own node answers before and after it', async () => {
  expect(await ranAt(node, node)).toEqual({ ran: 1, outcome: told })
})

test('an effect does not begin at another node', async () => {
  const { ran, outcome } = await ranAt(OTHER_NODE)
  expect(ran).toBe(0)
  expect(outcome).toBeInstanceOf(Fault)
})

test('what an effect learned does not count where another node answers after it', async () => {
  const { ran, outcome } = await ranAt(node, OTHER_NODE)
  expect(ran).toBe(1)
  expect(outcome).toBeInstanceOf(Fault)
})
