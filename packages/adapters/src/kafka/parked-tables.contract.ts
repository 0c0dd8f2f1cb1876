import type { BusMessage } from '@penstock/ports/bus.ts'
import type { Views } from '@penstock/ports/views.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type SharedParkedKeys, openSharedParkedKeys } from './parked-tables.ts'
import type { ReceivedMessage } from './consumer/to-bus-message.ts'

export type ParkedFixture = { readonly views: Views; teardown(): Promise<void> }

const KEY = { group: 'readers', topic: 'orders', key: 'k' }
/** Exceeds a 32-bit integer, as real offsets and timestamps do. */
const BEYOND_INT32 = 5_000_000_000
const message = (id: string, offset: number): ReceivedMessage => ({
  id,
  key: KEY.key,
  headers: { type: 'OrderPlaced', note: 'ü "quoted"' },
  body: `{"id":"${id}"}`,
  partition: 3,
  offset,
  at: BEYOND_INT32 + offset,
})

/** The contract of the tables of parked keys, for every SQL database. */
export function parkedKeysContract(name: string, open: () => Promise<ParkedFixture>): void {
  describe(`parked keys in ${name}`, () => {
    let fixture: ParkedFixture
    let parked: SharedParkedKeys
    let now = BEYOND_INT32
    beforeEach(async () => {
      fixture = await open()
      parked = await openSharedParkedKeys(fixture.views, () => now++)
    })
    afterEach(() => fixture.teardown())

    /** Removes all messages of the key. @returns their ids in the order of a replay */
    async function removeAll(): Promise<readonly string[]> {
      const order: string[] = []
      for (let first = await parked.first(KEY); first; first = await parked.first(KEY)) {
        order.push(first.id)
        await parked.remove(KEY, first)
      }
      return order
    }

    it('store a republished message once, at its first position', async () => {
      await parked.park(KEY, message('a', 1), 'the code is wrong')
      for (const [offset, id] of ['b', 'c', 'a', 'b', 'c'].entries())
        expect(await parked.parkBehind(KEY, message(id, offset + 2))).toBe(true)
      expect(await parked.list()).toMatchObject([{ messages: 3 }])
      expect(await removeAll()).toEqual(['a', 'b', 'c'])
    })
    it('store lost messages before the message that revealed the loss', async () => {
      const lost: readonly BusMessage[] = ['x', 'y'].map((id) => ({ id, key: KEY.key, headers: {}, body: '{}' }))
      await parked.park(KEY, message('a', 0), 'the code is wrong', lost)
      expect(await parked.parkBehind(KEY, message('a', 0))).toBe(true)
      expect(await parked.parkBehind(KEY, message('b', 1))).toBe(true)
      await parked.park(KEY, message('a', 0), 'it still is', lost)
      expect(await removeAll()).toEqual(['x', 'y', 'a', 'b'])
    })
    it('merge the messages of two partitions by their time, and keep the order of each partition', async () => {
      const other = (id: string, offset: number, at: number) => ({ ...message(id, offset), partition: 9, at: BEYOND_INT32 + at })
      await parked.park(KEY, other('b', 70, 2), 'the code is wrong')
      for (const later of [message('a', 1), other('d', 71, 1), message('c', 3), other('e', 72, 9)])
        expect(await parked.parkBehind(KEY, later)).toBe(true)
      expect(await removeAll()).toEqual(['a', 'b', 'd', 'c', 'e'])
    })
    it('return a message unchanged', async () => {
      const far = message('a', BEYOND_INT32)
      await parked.park(KEY, far, 'the code is wrong')
      expect(await parked.first(KEY)).toEqual(far)
    })
    it('are listed for operators and for members of their group, from the parking until the release', async () => {
      const since = now
      await parked.park(KEY, message('a', 1), 'the code is wrong')
      await parked.parkBehind(KEY, message('b', 2))
      expect(await parked.list()).toEqual([{ ...KEY, reason: 'the code is wrong', since, messages: 2 }])
      expect(await parked.listStates()).toEqual([{ ...KEY, partition: 3, replaying: false }])

      expect(await parked.startReplay(KEY)).toBe(2)
      expect(await parked.listStates()).toEqual([{ ...KEY, partition: 3, replaying: true }])
      await parked.park(KEY, message('a', 1), 'it still is')
      expect(await parked.list()).toEqual([{ ...KEY, reason: 'it still is', since, messages: 2 }])
      expect(await parked.listStates()).toEqual([{ ...KEY, partition: 3, replaying: false }])

      expect(await parked.startReplay(KEY)).toBe(2)
      expect(await parked.release(KEY)).toBe(false)
      expect(await removeAll()).toEqual(['a', 'b'])
      expect(await parked.release(KEY)).toBe(true)
      expect(await parked.list()).toEqual([])
      expect(await parked.listStates()).toEqual([])
      expect(await parked.parkBehind(KEY, message('c', 3))).toBe(false)
      expect(await parked.startReplay(KEY)).toBe(0)
      expect(await parked.first(KEY)).toBeUndefined()
    })
    it('ignore a message before the first parked message, because it was handled before', async () => {
      await parked.park(KEY, message('b', 5), 'the code is wrong')
      expect(await parked.parkBehind(KEY, message('a', 4))).toBe(true)
      // In a recreated topic a newer message may have a lower offset.
      expect(await parked.parkBehind(KEY, { ...message('c', 0), at: BEYOND_INT32 + 6 })).toBe(true)
      expect((await removeAll()).toSorted()).toEqual(['b', 'c'])
    })
    it('are separate for each group, topic and key', async () => {
      const otherKeys = [
        { ...KEY, group: 'writers' },
        { ...KEY, topic: 'holds' },
        { ...KEY, key: 'l' },
      ]
      await parked.park(KEY, message('a', 1), 'the code is wrong')
      for (const other of otherKeys) {
        expect(await parked.parkBehind(other, message('b', 2))).toBe(false)
        await parked.park(other, message('b', 2), 'it is wrong there too')
      }
      expect(await removeAll()).toEqual(['a'])
      expect(await parked.release(KEY)).toBe(true)
      const remaining = (await parked.list()).map(({ group, topic, key }) => ({ group, topic, key }))
      expect(remaining).toHaveLength(otherKeys.length)
      expect(remaining).toEqual(expect.arrayContaining(otherKeys))
    })
    it('lose no message that arrives during a release: the message is parked, or the member handles it', async () => {
      for (let round = 0; round < 20; round++) {
        const [first, second] = [message(`a${round}`, 2 * round), message(`b${round}`, 2 * round + 1)]
        await parked.park(KEY, first, 'the code is wrong')
        await parked.remove(KEY, first)
        const [isReleased, isParked] = await Promise.all([parked.release(KEY), parked.parkBehind(KEY, second)])
        expect(isReleased).toBe(!isParked)
        expect(await removeAll()).toEqual(isParked ? [second.id] : [])
        expect(await parked.release(KEY)).toBe(true)
      }
    })
  })
}
