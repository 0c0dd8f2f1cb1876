import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { openViews } from '../sqlite/views.ts'
import { parkedKeys } from './parked-tables.ts'
import type { Received } from './received.ts'

const place = { group: 'readers', topic: 'orders', key: 'k' }
const message = (id: string, offset: number): Received => ({
  id,
  key: 'k',
  headers: {},
  body: '{}',
  partition: 0,
  offset,
  at: offset,
})

async function tables() {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-parked-'))
  const views = openViews(join(folder, 'views.db'))
  onTestFinished(async () => {
    await views.close()
    await rm(folder, { recursive: true })
  })
  return parkedKeys(views, () => 0)
}
type Tables = Awaited<ReturnType<typeof tables>>

/** In the order in which a replay hands them over. */
async function emptied(parked: Tables): Promise<readonly string[]> {
  const order: string[] = []
  for (let first = await parked.first(place); first; first = await parked.first(place)) {
    order.push(first.id)
    await parked.remove(place, first)
  }
  return order
}

test('what is published again behind a parked key is kept once, in its first place', async () => {
  const parked = await tables()
  await parked.park(place, message('a', 1), 'the code is wrong')
  for (const [offset, id] of ['b', 'c', 'a', 'b', 'c'].entries())
    assert.equal(await parked.parkBehind(place, message(id, offset + 2)), true)
  assert.equal((await parked.list())[0]?.messages, 3)
  assert.deepEqual(await emptied(parked), ['a', 'b', 'c'])
})

test('what was lost is kept before the message that showed it, and comes first', async () => {
  const parked = await tables()
  const lost = ['x', 'y'].map((id) => ({ id, key: 'k', headers: {}, body: '{}' }))
  await parked.park(place, message('a', 0), 'the code is wrong', lost)
  assert.equal(await parked.parkBehind(place, message('a', 0)), true)
  assert.equal(await parked.parkBehind(place, message('b', 1)), true)
  await parked.park(place, message('a', 0), 'it still is', lost)
  assert.deepEqual(await emptied(parked), ['x', 'y', 'a', 'b'])
})
