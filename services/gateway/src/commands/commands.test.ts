import { order } from '@penstock/contracts/order.ts'
import { ask } from '@penstock/runtime/service.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { placed } from '../fake-market.contract.ts'
import { type Stage, stage } from '../stage.contract.ts'
import { pruneCommands } from '../views/commands.ts'
import { tablesOf } from '../views/tables.ts'

const ORDER = '30000000-0000-4000-8000-000000000001'
const cancel = ask(order, ORDER, 'Cancel', { by: ORDER, reason: 'x' })

let market: Stage
beforeEach(async () => {
  market = await stage()
})
afterEach(() => market.close())

const asked = (ms = 1000) => market.gateway.commands.ask(cancel, { until: performance.now() + ms })

test('accepted with facts: answered when the last of them is in the read model', async () => {
  market.answers((_, { commandId }) =>
    market.happens('order', ORDER, [placed(), { type: 'BuyerRejected', data: { reason: 'x' } }], commandId),
  )
  assert.deepEqual(await asked(), { outcome: 'accepted', revision: 1 })
})

test('accepted with nothing new, refused, and not answered', async () => {
  market.answers((one, options) => market.outcome(one, options, null))
  assert.deepEqual(await asked(), { outcome: 'accepted', revision: null })
  market.answers((one, options) => market.outcome(one, options, { code: 'HELD', message: 'The payment is held.' }))
  assert.deepEqual(await asked(), { outcome: 'refused', code: 'HELD', message: 'The payment is held.' })
  market.answers(() => undefined)
  assert.deepEqual(await asked(150), { outcome: 'unanswered' })
})

test('a command is void after the time that its caller waits', async () => {
  market.answers((one, options) => market.outcome(one, options, null))
  const until = market.gateway.clock.monotonicMs() + 777
  const before = Date.now()
  await market.gateway.commands.ask(cancel, { until })
  // By the wall clock, which the owner of the command has too; both clocks are told in whole milliseconds.
  const lateMs = (market.sent[0]?.options.notAfter ?? 0) - before - 777
  assert.ok(Math.abs(lateMs) < 100, `${lateMs} ms`)
  assert.equal(market.sent[0]?.options.correlation, ORDER)
})

test("what processes do among themselves is nobody's answer, and answers are kept for a day", async () => {
  const rows = () => tablesOf(market.gateway.views).selectFrom('gateway_commands').select('id').execute()
  await market.happens('order', ORDER, [placed()])
  assert.equal((await rows()).length, 0)
  market.answers((one, options) => market.outcome(one, options, null))
  await asked()
  await pruneCommands(market.gateway.views, Date.now() + 86_000_000)
  assert.equal((await rows()).length, 1)
  await pruneCommands(market.gateway.views, Date.now() + 87_000_000)
  assert.equal((await rows()).length, 0)
})

test('while the market is restored every wish is refused at once, and what was there can be read', async () => {
  const closed = await stage({ env: { PENSTOCK_RESTORED: '1' } })
  await closed.happens('order', ORDER, [placed()])
  expect(await closed.gateway.commands.ask(cancel, { until: performance.now() + 5000 })).toMatchObject({
    outcome: 'refused',
    code: 'READ_ONLY',
    message: expect.stringContaining('being restored') as string,
  })
  expect(closed.sent).toEqual([])
  await closed.close()
})
