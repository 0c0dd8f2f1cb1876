import type { BusMessage } from '@penstock/ports/bus.ts'
import type { Views } from '@penstock/ports/views.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ParkedKeys, parkedKeys } from './parked-tables.ts'
import type { Received } from './received.ts'

export type ParkedWorld = { readonly views: Views; teardown(): Promise<void> }

const PLACE = { group: 'readers', topic: 'orders', key: 'k' }
/** Beyond what 32 bits hold, as offsets and times are. */
const FAR = 5_000_000_000
const message = (id: string, offset: number): Received => ({
  id,
  key: PLACE.key,
  headers: { type: 'OrderPlaced', note: 'ü "quoted"' },
  body: `{"id":"${id}"}`,
  partition: 3,
  offset,
  at: FAR + offset,
})

/** What the tables of parked keys do, whatever database they stand in. */
export function parkedKeysContract(name: string, open: () => Promise<ParkedWorld>): void {
  describe(`parked keys: ${name}`, () => {
    let world: ParkedWorld
    let parked: ParkedKeys
    let now = FAR
    beforeEach(async () => {
      world = await open()
      parked = await parkedKeys(world.views, () => now++)
    })
    afterEach(() => world.teardown())

    /** In the order in which a replay hands them over. */
    async function emptied(): Promise<readonly string[]> {
      const order: string[] = []
      for (let first = await parked.first(PLACE); first; first = await parked.first(PLACE)) {
        order.push(first.id)
        await parked.remove(PLACE, first)
      }
      return order
    }

    it('keep what is published again behind a parked key once, in its first place', async () => {
      await parked.park(PLACE, message('a', 1), 'the code is wrong')
      for (const [offset, id] of ['b', 'c', 'a', 'b', 'c'].entries())
        expect(await parked.parkBehind(PLACE, message(id, offset + 2))).toBe(true)
      expect(await parked.list()).toMatchObject([{ messages: 3 }])
      expect(await emptied()).toEqual(['a', 'b', 'c'])
    })
    it('keep what was lost before the message that showed it, to come first', async () => {
      const lost: readonly BusMessage[] = ['x', 'y'].map((id) => ({ id, key: PLACE.key, headers: {}, body: '{}' }))
      await parked.park(PLACE, message('a', 0), 'the code is wrong', lost)
      expect(await parked.parkBehind(PLACE, message('a', 0))).toBe(true)
      expect(await parked.parkBehind(PLACE, message('b', 1))).toBe(true)
      await parked.park(PLACE, message('a', 0), 'it still is', lost)
      expect(await emptied()).toEqual(['x', 'y', 'a', 'b'])
    })
    it('give a message back as it was', async () => {
      const far = message('a', FAR)
      await parked.park(PLACE, far, 'the code is wrong')
      expect(await parked.first(PLACE)).toEqual(far)
    })
    it('show a key to operators and to the members of its group, from park over replay to release', async () => {
      const since = now
      await parked.park(PLACE, message('a', 1), 'the code is wrong')
      await parked.parkBehind(PLACE, message('b', 2))
      expect(await parked.list()).toEqual([{ ...PLACE, reason: 'the code is wrong', since, messages: 2 }])
      expect(await parked.waiting()).toEqual([{ ...PLACE, partition: 3, replaying: false }])

      expect(await parked.startReplay(PLACE)).toBe(2)
      expect(await parked.waiting()).toEqual([{ ...PLACE, partition: 3, replaying: true }])
      await parked.park(PLACE, message('a', 1), 'it still is')
      expect(await parked.list()).toEqual([{ ...PLACE, reason: 'it still is', since, messages: 2 }])
      expect(await parked.waiting()).toEqual([{ ...PLACE, partition: 3, replaying: false }])

      expect(await parked.startReplay(PLACE)).toBe(2)
      expect(await parked.release(PLACE)).toBe(false)
      expect(await emptied()).toEqual(['a', 'b'])
      expect(await parked.release(PLACE)).toBe(true)
      expect(await parked.list()).toEqual([])
      expect(await parked.waiting()).toEqual([])
      expect(await parked.parkBehind(PLACE, message('c', 3))).toBe(false)
      expect(await parked.startReplay(PLACE)).toBe(0)
      expect(await parked.first(PLACE)).toBeUndefined()
    })
    it('keep what comes before the first out: it was handled before', async () => {
      await parked.park(PLACE, message('b', 5), 'the code is wrong')
      expect(await parked.parkBehind(PLACE, message('a', 4))).toBe(true)
      // In a topic that was made anew a lower place lies later in time.
      expect(await parked.parkBehind(PLACE, { ...message('c', 0), at: FAR + 6 })).toBe(true)
      expect((await emptied()).toSorted()).toEqual(['b', 'c'])
    })
    it('know keys by their group and topic too', async () => {
      const others = [
        { ...PLACE, group: 'writers' },
        { ...PLACE, topic: 'holds' },
        { ...PLACE, key: 'l' },
      ]
      await parked.park(PLACE, message('a', 1), 'the code is wrong')
      for (const other of others) {
        expect(await parked.parkBehind(other, message('b', 2))).toBe(false)
        await parked.park(other, message('b', 2), 'it is wrong there too')
      }
      expect(await emptied()).toEqual(['a'])
      expect(await parked.release(PLACE)).toBe(true)
      const left = (await parked.list()).map(({ group, topic, key }) => ({ group, topic, key }))
      expect(left).toHaveLength(others.length)
      expect(left).toEqual(expect.arrayContaining(others))
    })
    it('lose nothing that comes while a key is released: it is kept, or its member is told to handle it', async () => {
      for (let round = 0; round < 20; round++) {
        const [first, second] = [message(`a${round}`, 2 * round), message(`b${round}`, 2 * round + 1)]
        await parked.park(PLACE, first, 'the code is wrong')
        await parked.remove(PLACE, first)
        const [free, kept] = await Promise.all([parked.release(PLACE), parked.parkBehind(PLACE, second)])
        expect(free).toBe(!kept)
        expect(await emptied()).toEqual(kept ? [second.id] : [])
        expect(await parked.release(PLACE)).toBe(true)
      }
    })
  })
}
