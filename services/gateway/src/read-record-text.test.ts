import type { Records, StoredRecord } from '@penstock/ports/records.ts'
import { expect, test, vi } from 'vitest'
import { readRecordText, readTogether } from './read-record-text.ts'

const createRecord = (id: string): StoredRecord => ({ id, kind: 'name', json: JSON.stringify({ name: `name of ${id}` }), at: 1 })

test('the texts of a list are read in one query, and only if one of them is requested', async () => {
  const getMany = vi.fn<Records['getMany']>(async (ids) => new Map(ids.map((id) => [id, createRecord(id)])))
  const rows = [{ record: 'r1' }, { record: null }, { record: 'r2' }]
  const reader = readTogether({ getMany }, rows, ({ record }) => record)
  expect(getMany).not.toHaveBeenCalled()
  const texts = await Promise.all(rows.map(({ record }) => readRecordText(reader, record, 'name')))
  expect(texts).toEqual(['name of r1', undefined, 'name of r2'])
  expect(getMany.mock.calls).toEqual([[['r1', 'r2']]])
})
