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
      await timers.replace('order', 'order-b', [at(20)], 1)
      await timers.replace('order', 'order-a', [at(10)], 1)
      await timers.replace('order', 'order-c', [at(30)], 1)
      expect(await streams(9)).toEqual([])
      expect(await streams(20)).toEqual(['order-a', 'order-b'])
      expect(await streams(99, undefined, 2)).toEqual(['order-a', 'order-b'])
    })
    it('tells heights only to those who see a chain', async () => {
      await timers.replace('order', 'order-a', [height(100)], 1)
      await timers.replace('order', 'order-b', [at(5)], 1)
      expect(await streams(1e15)).toEqual(['order-b'])
      expect(await streams(0, 99)).toEqual([])
      expect((await streams(5, 100)).sort()).toEqual(['order-a', 'order-b'])
    })
    it('gives a timer back as it was taken', async () => {
      const timer = at(1_790_000_000_000, 'lapse', { deadline: 7, text: 'é', nested: { list: [1, null] } })
      await timers.replace('order', 'order-a', [timer], 1)
      expect(await timers.due('order', 1_790_000_000_000, undefined, 1)).toEqual([
        { ...timer, service: 'order', stream: 'order-a' },
      ])
    })
    it('replaces all timers of a stream, and none of another or of another service', async () => {
      await timers.replace('order', 'order-a', [at(1), at(2, 'remind')], 1)
      await timers.replace('order', 'order-b', [at(3)], 1)
      await timers.replace('settlement', 'order-a', [at(4)], 1)
      await timers.replace('order', 'order-a', [at(9)], 1)
      expect((await timers.list(10)).map(({ service, stream, due }) => [service, stream, due])).toEqual([
        ['order', 'order-b', { at: 3 }],
        ['settlement', 'order-a', { at: 4 }],
        ['order', 'order-a', { at: 9 }],
      ])
      await timers.replace('order', 'order-a', [], 1)
      expect(await streams(99)).toEqual(['order-b'])
    })
    it('keeps the timers of the newer revision when two come out of turn', async () => {
      await timers.replace('order', 'order-a', [at(9)], 7)
      await timers.replace('order', 'order-a', [], 6)
      await timers.replace('order', 'order-a', [at(5), at(6, 'remind')], 6)
      expect((await timers.list(10)).find(({ step }) => step === 'lapse')?.due).toEqual({ at: 9 })
      await timers.replace('order', 'order-a', [at(11)], 8)
      expect((await timers.list(10)).map(({ due }) => due)).toEqual([{ at: 11 }])
    })
    it('forgets what was fired, unless it was replaced meanwhile', async () => {
      await timers.replace('order', 'order-a', [at(1)], 1)
      await timers.replace('order', 'order-b', [height(1)], 1)
      const due = await timers.due('order', 1, 1, 10)
      await timers.replace('order', 'order-a', [at(2)], 1)
      for (const timer of due) await timers.fired(timer)
      expect((await timers.list(10)).map(({ stream, due: when }) => [stream, when])).toEqual([['order-a', { at: 2 }]])
    })
    it('outlives a restart', async () => {
      await timers.replace('order', 'order-a', [at(1), height(2)], 1)
      expect(await (await world.reopen()).list(10)).toHaveLength(2)
    })
  })
}
