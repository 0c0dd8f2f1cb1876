import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ConsumerProgress, StreamProgress } from './progress.ts'
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
    /** @returns the events that were later, as `<stream> <revision>` */
    const advance = async (consumer: string, ...events: readonly StreamProgress[]): Promise<readonly string[]> => {
      const later = await fixture.views.db.transaction().execute((trx) => progress.advance(consumer, events, trx))
      return later.map(({ stream, revision }) => `${stream} ${revision}`)
    }
    const revisions = (...streams: readonly string[]) => Promise.all(streams.map((stream) => progress.revision('one', stream)))

    it('begins at the start for each consumer', async () => {
      await progress.saveCheckpoint('one', 5n)
      await advance('one', reached('order-a', 3, 5))
      expect(await progress.load('one')).toEqual({ position: 5n })
      expect(await progress.load('two')).toEqual({ position: 'start' })
      expect(await progress.revision('one', 'order-a')).toBe(3)
      expect(await progress.revision('two', 'order-a')).toBeUndefined()
    })
    it('never goes back', async () => {
      for (const position of [7n, 4n]) await progress.saveCheckpoint('one', position)
      const later: string[] = []
      for (const revision of [5, 6, 2, 6]) later.push(...(await advance('one', reached('order-a', revision, 10 + revision))))
      expect(later).toEqual(['order-a 5', 'order-a 6'])
      expect(await progress.load('one')).toEqual({ position: 7n })
      expect(await progress.revision('one', 'order-a')).toBe(6)
    })
    it('advances many streams at once, and names the later events in the given order', async () => {
      await advance('one', reached('order-b', 4, 1))
      await advance('two', reached('order-c', 9, 1))
      const events = [reached('order-c', 0, 2), reached('order-b', 4, 1), reached('order-a', 7, 3)]
      expect(await advance('one', ...events)).toEqual(['order-c 0', 'order-a 7'])
      expect(await revisions('order-a', 'order-b', 'order-c')).toEqual([7, 4, 0])
      expect(await advance('one')).toEqual([])
    })
    it('advances a stream by several events, and omits the handled and the repeated of them', async () => {
      await advance('one', reached('order-b', 4, 4), reached('order-c', 9, 9))
      const events = [
        ...[0, 1, 1, 2, 0].map((revision) => reached('order-a', revision, 20 + revision)),
        ...[3, 4, 5, 6].map((revision) => reached('order-b', revision, revision)),
        ...[7, 8].map((revision) => reached('order-c', revision, revision)),
      ]
      const later = ['order-a 0', 'order-a 1', 'order-a 2', 'order-b 5', 'order-b 6']
      expect(await advance('one', ...events)).toEqual(later)
      expect(await revisions('order-a', 'order-b', 'order-c')).toEqual([2, 6, 9])
      expect(await advance('one', ...events)).toEqual([])
    })
    it('advances more streams than fit into one statement', async () => {
      const events = Array.from({ length: 600 }, (_, n) => reached(`order-${n}`, 1, n))
      expect(await advance('one', ...events)).toHaveLength(600)
      expect(await advance('one', ...events, reached('order-599', 2, 600))).toEqual(['order-599 2'])
    })
    it('is written only if the given transaction commits', async () => {
      const failing = fixture.views.db.transaction().execute(async (trx) => {
        await progress.advance('one', [reached('order-a', 1, 2)], trx)
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
      await advance('one', reached('order-a', 1, 2))
      await progress.saveCheckpoint('one', 2n)
      await progress.reset('one')
      expect(await progress.load('one')).toEqual({ position: 'start' })
      expect(await progress.revision('one', 'order-a')).toBeUndefined()
    })
  })
}
