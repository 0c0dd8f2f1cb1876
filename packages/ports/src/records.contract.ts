import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Records } from './records.ts'

export type RecordsFixture = { readonly records: Records; reopen(): Promise<Records>; teardown(): Promise<void> }

/** Cases that every store of deletable records must pass. */
export function recordsContract(name: string, open: () => Promise<RecordsFixture>): void {
  describe(`records: ${name}`, () => {
    let fixture: RecordsFixture
    let records: Records
    beforeEach(async () => {
      fixture = await open()
      records = fixture.records
    })
    afterEach(() => fixture.teardown())
    const json = '{"email":"ann@example.org","note":"é 🦫"}'

    it('are returned as they were put, also after a restart', async () => {
      await records.put('r1', 'account', json, 1_790_000_000_000)
      expect(await (await fixture.reopen()).get('r1')).toEqual({ id: 'r1', kind: 'account', json, at: 1_790_000_000_000 })
    })
    it('can be replaced, and are deleted permanently', async () => {
      await records.put('r1', 'account', json, 1)
      await records.put('r1', 'account', '{}', 2)
      expect(await records.get('r1')).toMatchObject({ json: '{}', at: 2 })
      await records.delete('r1')
      await records.delete('r1')
      expect(await records.get('r1')).toBeUndefined()
    })
    it('are deleted together, and other records stay', async () => {
      for (const id of ['r1', 'r2', 'r3']) await records.put(id, 'account', json, 1)
      await records.delete()
      await records.delete('r1', 'r3', 'unknown')
      const reopened = await fixture.reopen()
      const stored = await Promise.all(['r1', 'r2', 'r3'].map((id) => reopened.get(id)))
      expect(stored.map((record) => record?.id)).toEqual([undefined, 'r2', undefined])
    })
    it('are found by many ids at once, without the ids that have no record', async () => {
      expect(await records.getMany([])).toEqual(new Map())
      await records.put('r1', 'account', json, 1)
      await records.put('r2', 'account', '{}', 2)
      await records.put('r3', 'account', '{}', 3)
      const found = await records.getMany(['r2', 'r1', 'r9', 'r1'])
      expect([...found.keys()].toSorted()).toEqual(['r1', 'r2'])
      expect(found.get('r1')).toEqual({ id: 'r1', kind: 'account', json, at: 1 })
    })
    it('are stored by many callers at once, and are durable when a call resolves', async () => {
      const ids = Array.from({ length: 1100 }, (_, n) => `r${n}`)
      await Promise.all(ids.map((id, n) => records.put(id, 'account', JSON.stringify({ n }), n)))
      const reopened = await fixture.reopen()
      expect(await reopened.get('r1099')).toEqual({ id: 'r1099', kind: 'account', json: '{"n":1099}', at: 1099 })
      expect((await reopened.getMany(ids)).size).toBe(1100)
    })
    it('are changed in the order of the calls, also if the calls do not wait for each other', async () => {
      await records.put('r3', 'account', '{"n":0}', 0)
      await Promise.all([
        records.put('r1', 'account', '{"n":1}', 1),
        records.put('r2', 'account', '{"n":1}', 1),
        records.put('r1', 'account', '{"n":2}', 2),
        records.delete('r2'),
        records.delete('r3'),
        records.put('r3', 'account', '{"n":1}', 1),
      ])
      expect(await records.get('r1')).toMatchObject({ json: '{"n":2}', at: 2 })
      expect(await records.get('r2')).toBeUndefined()
      expect(await records.get('r3')).toMatchObject({ json: '{"n":1}' })
    })
    it('are found after an awaited call, while other calls run', async () => {
      const others = ['a', 'b', 'c'].map((id) => records.put(id, 'account', '{}', 1))
      const replaced = records.put('r1', 'account', '{}', 1)
      const deleted = replaced.then(() => records.delete('r1'))
      await replaced.then(() => records.put('r2', 'account', json, 1))
      expect(await records.get('r2')).toMatchObject({ json })
      await deleted
      expect(await records.get('r1')).toBeUndefined()
      await Promise.all(others)
    })
  })
}
