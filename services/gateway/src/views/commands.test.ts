import type { Event } from '@penstock/runtime/service.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { noteAccepted } from './commands.ts'
import { migrateGateway } from './migrations.ts'
import { tablesOf } from './tables.ts'

const DRAWN = '30000000-0000-7000-8000-000000000001'

test('a caller is answered with the last fact of a decision, and not before', async () => {
  const { views } = (await memoryWorld()).platform
  await migrateGateway(views)
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
