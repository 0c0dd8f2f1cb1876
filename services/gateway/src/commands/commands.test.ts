import { command } from '@penstock/kernel/process.ts'
import type { OrderTarget } from '@penstock/contracts/order.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { createInstantClock } from '@penstock/ports/instant-clock.fixture.ts'
import { stillClock } from '@penstock/ports/still-clock.fixture.ts'
import { countStatements } from '@penstock/testkit/statement-counter.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createOrderPlacedFact } from '../market/fake-market.fixture.ts'
import { type GatewayHarness, openGatewayHarness, NOW } from '../gateway-harness.fixture.ts'
import { pruneCommands } from './command-outcomes.ts'
import { type CommandPorts, openCommands } from './commands.ts'
import { withOutcomeTable } from './outcome-table.ts'
import { openReadModelWaiters } from './read-model-waiters.ts'

const ORDER = '30000000-0000-4000-8000-000000000001'
const cancel = command<OrderTarget>('order', ORDER, { type: 'Cancel', data: { by: ORDER, reason: 'x' } })

let market: GatewayHarness
beforeEach(async () => {
  market = await openGatewayHarness()
})
afterEach(() => market.close())

const sendCancel = () => market.gateway.commands.sendAndWait(cancel, { until: market.gateway.clock.monotonicMs() + 60_000 })

test('an accepted command is answered once the read model contains its last fact', async () => {
  market.respondWith((_, { commandId }) =>
    market.projectFacts('order', ORDER, [createOrderPlacedFact(), { type: 'BuyerRejected', data: { reason: 'x' } }], commandId),
  )
  assert.deepEqual(await sendCancel(), { outcome: 'accepted', revision: 1 })
})

test('a command that adds no fact has the outcome of its receiver: accepted, refused or unanswered', async () => {
  market.respondWith((ask, options) => market.projectOutcome(ask, options, null))
  assert.deepEqual(await sendCancel(), { outcome: 'accepted', revision: null })
  market.respondWith((ask, options) => market.projectOutcome(ask, options, { code: 'HELD', message: 'The payment is held.' }))
  assert.deepEqual(await sendCancel(), { outcome: 'refused', code: 'HELD', message: 'The payment is held.' })
  await market.close()
  market = await openGatewayHarness({ clock: createInstantClock(NOW) })
  assert.deepEqual(await sendCancel(), { outcome: 'unanswered' })
})

test('an answer that this process projects costs one query', async () => {
  const { views, clock, ids } = market.gateway
  const { views: counted, count } = countStatements(views)
  const waiters = openReadModelWaiters(stillClock)
  const project = async (commandId: string): Promise<void> => {
    const row = { id: commandId, category: 'order', aggregate_id: ORDER, revision: 7, code: null, message: null, at: NOW }
    await withOutcomeTable(views).insertInto('gateway_commands').values(row).execute()
    waiters.notifyCommitted([commandId])
  }
  const sendAndWait = (send: CommandPorts['send']) =>
    openCommands({ views: counted, clock, ids, waiters, send }).sendAndWait(cancel, { until: 5000 })
  const accepted = { outcome: 'accepted', revision: 7 }
  assert.deepEqual(await sendAndWait((_, { commandId }) => project(commandId)), accepted)
  assert.equal(count(), 1)
  const projectLater = async (_: object, { commandId }: { commandId: string }): Promise<void> =>
    void setImmediate(() => void project(commandId))
  assert.deepEqual(await sendAndWait(projectLater), accepted)
  assert.equal(count(), 2)
})

test('a command whose sending is never confirmed is unanswered at its deadline', async () => {
  await market.close()
  market = await openGatewayHarness({ clock: createInstantClock(NOW) })
  market.respondWith(() => new Promise(() => undefined))
  assert.deepEqual(await sendCancel(), { outcome: 'unanswered' })
})

test('the notAfter of a command equals the deadline of its caller, and a command that is valid late has none', async () => {
  await market.close()
  market = await openGatewayHarness({ clock: { ...systemClock, now: () => NOW, monotonicMs: () => 1000 } })
  market.respondWith((ask, options) => market.projectOutcome(ask, options, null))
  await market.gateway.commands.sendAndWait(cancel, { until: 1777 })
  // `notAfter` is a time of the wall clock, which the receiver uses too.
  assert.equal(market.sent[0]?.options.notAfter, NOW + 777)
  assert.equal(market.sent[0]?.options.correlation, ORDER)
  await market.gateway.commands.sendAndWait(cancel, { until: 1777, isValidLate: true })
  assert.equal(market.sent[1]?.options.notAfter, undefined)
})

test('a command of a process records no answer, and the answer to a caller is stored for a day', async () => {
  const rows = () => withOutcomeTable(market.gateway.views).selectFrom('gateway_commands').select('id').execute()
  await market.projectFacts('order', ORDER, [createOrderPlacedFact()])
  assert.equal((await rows()).length, 0)
  market.respondWith((ask, options) => market.projectOutcome(ask, options, null))
  await sendCancel()
  await pruneCommands(market.gateway.views, NOW + 86_000_000)
  assert.equal((await rows()).length, 1)
  await pruneCommands(market.gateway.views, NOW + 87_000_000)
  assert.equal((await rows()).length, 0)
})

test('a restored market refuses every command at once', async () => {
  const restored = await openGatewayHarness({ env: { PENSTOCK_RESTORED: '1' } })
  await restored.projectFacts('order', ORDER, [createOrderPlacedFact()])
  expect(await restored.gateway.commands.sendAndWait(cancel, { until: Infinity })).toMatchObject({
    outcome: 'refused',
    code: 'READ_ONLY',
    message: expect.stringContaining('being restored') as string,
  })
  expect(restored.sent).toEqual([])
  await restored.close()
})
