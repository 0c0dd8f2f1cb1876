import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Records } from './records.ts'

export type RecordsWorld = { readonly records: Records; reopen(): Promise<Records>; teardown(): Promise<void> }

/** What every store of deletable records does. */
export function recordsContract(name: string, open: () => Promise<RecordsWorld>): void {
  describe(`records: ${name}`, () => {
    let world: RecordsWorld
    let records: Records
    beforeEach(async () => {
      world = await open()
      records = world.records
    })
    afterEach(() => world.teardown())
    const json = '{"email":"ann@example.org","note":"é 🦫"}'

    it('gives back what was put, also after a restart', async () => {
      await records.put('r1', 'account', json, 1_790_000_000_000)
      expect(await (await world.reopen()).get('r1')).toEqual({ id: 'r1', kind: 'account', json, at: 1_790_000_000_000 })
    })
    it('replaces, and deletes for good', async () => {
      await records.put('r1', 'account', json, 1)
      await records.put('r1', 'account', '{}', 2)
      expect(await records.get('r1')).toMatchObject({ json: '{}', at: 2 })
      await records.delete('r1')
      await records.delete('r1')
      expect(await records.get('r1')).toBeUndefined()
    })
  })
}
