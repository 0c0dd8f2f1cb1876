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
  })
}
