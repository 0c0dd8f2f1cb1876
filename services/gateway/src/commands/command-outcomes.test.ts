import type { Event } from '@penstock/runtime/service.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { recordAccepted, recordOutcome } from './command-outcomes.ts'
import { migrateGateway } from '../migrations.ts'
import { withOutcomeTable } from './outcome-table.ts'

const RANDOM_ID = '30000000-0000-7000-8000-000000000001'

const fact = (revision: number, more: object): Event => ({
  id: `e${revision}`,
  category: 'order',
  aggregateId: 'o',
  revision,
  position: BigInt(revision),
  at: 0,
  commandId: RANDOM_ID,
  correlation: 'o',
  fact: { type: 'OrderPlaced', v: 1, data: {} },
  ...more,
})

test('an acceptance is recorded with the last fact of a decision, and not before', async () => {
  const { views } = (await createMemoryPlatform()).platform
  await migrateGateway(views)
  const record = (event: Event) => views.db.transaction().execute((trx) => recordAccepted(trx, [event]))
  const answers = async () => {
    const rows = await withOutcomeTable(views).selectFrom('gateway_commands').select('revision').execute()
    return rows.map(({ revision }) => revision)
  }
  await record(fact(0, { hasMore: true }))
  assert.deepEqual(await answers(), [])
  await record(fact(1, {}))
  assert.deepEqual(await answers(), [1])
})

test('a command that one replica accepted is not recorded as refused, in any order of the messages', async () => {
  const { views } = (await createMemoryPlatform()).platform
  await migrateGateway(views)
  const refused = { code: 'TOO_LATE', message: 'late' }
  const outcome = { commandId: RANDOM_ID, category: 'order', aggregateId: 'o', revision: 'none', refused, at: 0 } as const
  const readRows = async () => {
    const rows = await withOutcomeTable(views).selectFrom('gateway_commands').select(['revision', 'code', 'message']).execute()
    return rows.map((row) => ({ ...row }))
  }
  await views.db.transaction().execute(async (trx) => {
    await recordOutcome(trx, outcome)
    await recordAccepted(trx, [fact(1, {})])
    await recordOutcome(trx, outcome)
  })
  assert.deepEqual(await readRows(), [{ revision: 1, code: null, message: null }])
})
