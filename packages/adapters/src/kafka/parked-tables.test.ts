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

test('what is published again behind a parked key is kept once, in its first place', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-parked-'))
  const views = openViews(join(folder, 'views.db'))
  onTestFinished(async () => {
    await views.close()
    await rm(folder, { recursive: true })
  })
  const parked = await parkedKeys(views, () => 0)
  await parked.park(place, message('a', 1), 'the code is wrong')
  for (const [offset, id] of ['b', 'c', 'a', 'b', 'c'].entries())
    assert.equal(await parked.parkBehind(place, message(id, offset + 2)), true)
  assert.equal((await parked.list())[0]?.messages, 3)
  const order: string[] = []
  for (let first = await parked.first(place); first; first = await parked.first(place)) {
    order.push(first.id)
    await parked.remove(place, first)
  }
  assert.deepEqual(order, ['a', 'b', 'c'])
})
