import type { Records } from '@penstock/ports/records.ts'
import type { Views } from '@penstock/ports/views.ts'
import { type KyselyPlugin, sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openViews } from '../sqlite/views.ts'
import { sqlRecords } from './records.ts'

let views: Views
beforeEach(() => {
  views = openViews(':memory:')
})
afterEach(() => views.close())

/** Opens records whose queries are listed, and whose answers wait for `answer`. */
async function openRecords(gather?: () => Promise<unknown>, answer = Promise.resolve()) {
  const queries: string[] = []
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => {
      queries.push(node.kind)
      return node
    },
    transformResult: async ({ result }) => {
      await answer
      return result
    },
  }
  return { queries, records: await sqlRecords({ ...views, db: views.db.withPlugin(plugin) }, gather) }
}
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))
const put = (records: Records, id: string): Promise<void> => records.put(id, 'account', '{}', 1)

test('calls that arrive while others are gathered share their statement', async () => {
  const { records, queries } = await openRecords(nextTurn)
  await Promise.all([put(records, 'r1'), put(records, 'r2'), Promise.resolve().then(() => put(records, 'r3'))])
  expect(queries).toEqual(['InsertQueryNode'])
  await Promise.all([records.delete('r1'), records.delete('r2')])
  expect(queries).toEqual(['InsertQueryNode', 'DeleteQueryNode'])
})

test('calls that arrive during a statement share the next one', async () => {
  const answer = Promise.withResolvers<void>()
  const { records, queries } = await openRecords(undefined, answer.promise)
  const first = put(records, 'r1')
  await nextTurn()
  const others = [put(records, 'r2'), put(records, 'r3'), put(records, 'r4')]
  await nextTurn()
  expect(queries).toEqual(['InsertQueryNode'])
  answer.resolve()
  await Promise.all([first, ...others])
  expect(queries).toEqual(['InsertQueryNode', 'InsertQueryNode'])
})

test('a failed commit fails each of its callers, and no later caller', async () => {
  const { records } = await openRecords(nextTurn)
  await sql`create trigger refuse before insert on records when new.id = 'bad' begin select raise(abort, 'refused'); end`.execute(
    views.db,
  )
  await put(records, 'r2')
  const answers = await Promise.allSettled([put(records, 'r1'), put(records, 'bad'), records.delete('r2')])
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect([...(await records.getMany(['r1', 'r2'])).keys()]).toEqual(['r2'])
  await put(records, 'r1')
  expect(await records.get('r1')).toBeDefined()
})
