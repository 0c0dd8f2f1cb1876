import { openViews } from '@penstock/adapters/sqlite/views.ts'
import type { Views } from '@penstock/ports/views.ts'
import { countStatements } from '@penstock/testkit/statement-counter.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { migrateGateway } from '../migrations.ts'
import { createAnswerLookup } from './answer-lookup.ts'
import { withOutcomeTable } from './outcome-table.ts'

let views: Views
beforeEach(async () => {
  views = openViews(':memory:')
  await migrateGateway(views)
})
afterEach(() => views.close())

const record = (id: string, answer: { revision?: number; code?: string; message?: string }) =>
  withOutcomeTable(views)
    .insertInto('gateway_commands')
    .values({ id, category: 'order', aggregate_id: 'o', revision: null, code: null, message: null, at: 0, ...answer })
    .execute()

test('lookups at the same time share queries, and each gets its own answer', async () => {
  await record('accepted', { revision: 3 })
  await record('unchanged', {})
  await record('refused', { code: 'HELD', message: 'The payment is held.' })
  const { views: counted, count } = countStatements(views)
  const findAnswer = createAnswerLookup(counted)
  const unknown = Array.from({ length: 20 }, (_, n) => `unknown-${n}`)
  const answers = await Promise.all(['accepted', 'unchanged', 'refused', 'accepted', ...unknown].map(findAnswer))
  assert.deepEqual(answers, [
    { outcome: 'accepted', revision: 3 },
    { outcome: 'accepted', revision: null },
    { outcome: 'refused', code: 'HELD', message: 'The payment is held.' },
    { outcome: 'accepted', revision: 3 },
    ...unknown.map(() => undefined),
  ])
  // The first lookup starts a query at once, and the others share the next one.
  assert.equal(count(), 2)
})

test('an answer is found by each lookup after its recording', async () => {
  const findAnswer = createAnswerLookup(views)
  const early = findAnswer('command')
  const recorded = record('command', { revision: 1 })
  assert.equal(await early, undefined)
  await recorded
  assert.deepEqual(await findAnswer('command'), { outcome: 'accepted', revision: 1 })
})

test('a failed query fails only its own lookups', async () => {
  const findAnswer = createAnswerLookup(views)
  await views.db.schema.alterTable('gateway_commands').renameTo('missing').execute()
  const failures = await Promise.allSettled([findAnswer('a'), findAnswer('b')])
  assert.deepEqual(
    failures.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  await views.db.schema.alterTable('missing').renameTo('gateway_commands').execute()
  await record('a', { revision: 1 })
  assert.deepEqual(await findAnswer('a'), { outcome: 'accepted', revision: 1 })
})
