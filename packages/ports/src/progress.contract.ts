import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ConsumerProgress } from './progress.ts'
import type { Views } from './views.ts'

export type ProgressFixture = { readonly progress: ConsumerProgress; readonly views: Views; teardown(): Promise<void> }

/** Cases that every implementation of consumer progress must pass. */
export function progressContract(name: string, open: () => Promise<ProgressFixture>): void {
  describe(`progress: ${name}`, () => {
    let fixture: ProgressFixture
    let progress: ConsumerProgress
    beforeEach(async () => {
      fixture = await open()
      progress = fixture.progress
    })
    afterEach(() => fixture.teardown())
    const reached = (stream: string, revision: number, position: number) => ({ stream, revision, position: BigInt(position) })

    it('begins at the start for each consumer', async () => {
      await progress.saveCheckpoint('one', 5n)
      await progress.advance('one', reached('order-a', 3, 5))
      expect(await progress.load('one')).toEqual({ position: 5n })
      expect(await progress.load('two')).toEqual({ position: 'start' })
      expect(await progress.revision('one', 'order-a')).toBe(3)
      expect(await progress.revision('two', 'order-a')).toBeUndefined()
    })
    it('never goes back', async () => {
      for (const position of [7n, 4n]) await progress.saveCheckpoint('one', position)
      const moved: boolean[] = []
      for (const revision of [5, 6, 2, 6]) moved.push(await progress.advance('one', reached('order-a', revision, 10 + revision)))
      expect(moved).toEqual([true, true, false, false])
      expect(await progress.load('one')).toEqual({ position: 7n })
      expect(await progress.revision('one', 'order-a')).toBe(6)
    })
    it('is written only if the given transaction commits', async () => {
      const failing = fixture.views.db.transaction().execute(async (trx) => {
        await progress.advance('one', reached('order-a', 1, 2), trx)
        await progress.saveCheckpoint('one', 2n, trx)
        expect(await progress.revision('one', 'order-a', trx)).toBe(1)
        throw new Error('the rows could not be written')
      })
      await expect(failing).rejects.toThrow('could not be written')
      expect(await progress.revision('one', 'order-a')).toBeUndefined()
      expect(await progress.load('one')).toEqual({ position: 'start' })
    })
    it('stores handled positions in any order, each once, until they are forgotten', async () => {
      await progress.markHandled('one', [9n, 3n, 7n])
      await progress.markHandled('one', [3n, 12n])
      await progress.markHandled('one', [])
      await progress.markHandled('two', [5n])
      const sorted = async (after: bigint | 'start', until: bigint) =>
        [...(await progress.listHandled('one', after, until))].toSorted((a, b) => Number(a - b))
      expect(await sorted('start', 100n)).toEqual([3n, 7n, 9n, 12n])
      expect(await sorted(3n, 9n)).toEqual([7n, 9n])
      await progress.deleteHandled('one', 7n)
      expect(await sorted('start', 100n)).toEqual([9n, 12n])
      await progress.reset('one')
      expect(await sorted('start', 100n)).toEqual([])
      expect(await progress.listHandled('two', 'start', 5n)).toEqual([5n])
    })
    it('is empty after a reset of the consumer', async () => {
      await progress.advance('one', reached('order-a', 1, 2))
      await progress.saveCheckpoint('one', 2n)
      await progress.reset('one')
      expect(await progress.load('one')).toEqual({ position: 'start' })
      expect(await progress.revision('one', 'order-a')).toBeUndefined()
    })
  })
}
