import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Timer, Timers } from './timers.ts'

export type TimersWorld = { readonly timers: Timers; reopen(): Promise<Timers>; teardown(): Promise<void> }

const at = (instant: number, step = 'lapse', data: object = {}): Timer => ({
  step,
  due: { at: instant },
  command: { type: 'Lapse', data },
})
const height = (block: number, step = 'guard'): Timer => ({
  step,
  due: { height: block },
  command: { type: 'Guard', data: { block } },
})

/** What every index of deadlines does. */
export function timersContract(name: string, open: () => Promise<TimersWorld>): void {
  describe(`timers: ${name}`, () => {
    let world: TimersWorld
    let timers: Timers
    beforeEach(async () => {
      world = await open()
      timers = world.timers
    })
    afterEach(() => world.teardown())
    const streams = async (now: number, block?: number, max = 10): Promise<string[]> =>
      (await timers.due('order', now, block, max)).map(({ stream }) => stream)

    it('tells those that are due, at their very instant, oldest first', async () => {
      await timers.replace('order', 'order-b', [at(20)])
      await timers.replace('order', 'order-a', [at(10)])
      await timers.replace('order', 'order-c', [at(30)])
      expect(await streams(9)).toEqual([])
      expect(await streams(20)).toEqual(['order-a', 'order-b'])
      expect(await streams(99, undefined, 2)).toEqual(['order-a', 'order-b'])
    })
    it('tells heights only to those who see a chain', async () => {
      await timers.replace('order', 'order-a', [height(100)])
      await timers.replace('order', 'order-b', [at(5)])
      expect(await streams(1e15)).toEqual(['order-b'])
      expect(await streams(0, 99)).toEqual([])
      expect((await streams(5, 100)).sort()).toEqual(['order-a', 'order-b'])
    })
    it('gives a timer back as it was taken', async () => {
      const timer = at(1_790_000_000_000, 'lapse', { deadline: 7, text: 'é', nested: { list: [1, null] } })
      await timers.replace('order', 'order-a', [timer])
      expect(await timers.due('order', 1_790_000_000_000, undefined, 1)).toEqual([
        { ...timer, service: 'order', stream: 'order-a' },
      ])
    })
    it('replaces all timers of a stream, and none of another or of another service', async () => {
      await timers.replace('order', 'order-a', [at(1), at(2, 'remind')])
      await timers.replace('order', 'order-b', [at(3)])
      await timers.replace('settlement', 'order-a', [at(4)])
      await timers.replace('order', 'order-a', [at(9)])
      expect((await timers.list(10)).map(({ service, stream, due }) => [service, stream, due])).toEqual([
        ['order', 'order-b', { at: 3 }],
        ['settlement', 'order-a', { at: 4 }],
        ['order', 'order-a', { at: 9 }],
      ])
      await timers.replace('order', 'order-a', [])
      expect(await streams(99)).toEqual(['order-b'])
    })
    it('forgets what was fired, unless it was replaced meanwhile', async () => {
      await timers.replace('order', 'order-a', [at(1)])
      await timers.replace('order', 'order-b', [height(1)])
      const due = await timers.due('order', 1, 1, 10)
      await timers.replace('order', 'order-a', [at(2)])
      for (const timer of due) await timers.fired(timer)
      expect((await timers.list(10)).map(({ stream, due: when }) => [stream, when])).toEqual([['order-a', { at: 2 }]])
    })
    it('outlives a restart', async () => {
      await timers.replace('order', 'order-a', [at(1), height(2)])
      expect(await (await world.reopen()).list(10)).toHaveLength(2)
    })
  })
}
