import type { Event } from '@penstock/runtime/service.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { noteAccepted, noteOutcome } from './commands.ts'
import { migrateGateway } from './migrations.ts'
import { tablesOf } from './tables.ts'

const DRAWN = '30000000-0000-7000-8000-000000000001'

const fact = (revision: number, more: object): Event => ({
  id: `e${revision}`,
  category: 'order',
  aggregateId: 'o',
  revision,
  position: BigInt(revision),
  at: 0,
  commandId: DRAWN,
  correlation: 'o',
  fact: { type: 'OrderPlaced', v: 1, data: {} },
  ...more,
})

test('a caller is answered with the last fact of a decision, and not before', async () => {
  const { views } = (await memoryWorld()).platform
  await migrateGateway(views)
  const note = (event: Event) => views.db.transaction().execute((trx) => noteAccepted(trx, event))
  const answers = async () => {
    const rows = await tablesOf(views).selectFrom('gateway_commands').select('revision').execute()
    return rows.map(({ revision }) => revision)
  }
  await note(fact(0, { more: true }))
  assert.deepEqual(await answers(), [])
  await note(fact(1, {}))
  assert.deepEqual(await answers(), [1])
})

test('what was done is not called refused, whichever of two replicas is heard first', async () => {
  const { views } = (await memoryWorld()).platform
  await migrateGateway(views)
  const refused = { code: 'TOO_LATE', message: 'late' }
  const outcome = { commandId: DRAWN, category: 'order', aggregateId: 'o', revision: 'none', refused, at: 0 } as const
  const noted = async () => {
    const rows = await tablesOf(views).selectFrom('gateway_commands').select(['revision', 'code', 'message']).execute()
    return rows.map((row) => ({ ...row }))
  }
  await views.db.transaction().execute(async (trx) => {
    await noteOutcome(trx, outcome)
    await noteAccepted(trx, fact(1, {}))
    await noteOutcome(trx, outcome)
  })
  assert.deepEqual(await noted(), [{ revision: 1, code: null, message: null }])
})
