import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Timer, Timers } from './timers.ts'

export type TimersFixture = { readonly timers: Timers; reopen(): Promise<Timers>; teardown(): Promise<void> }

const timerAt = (instant: number, step = 'lapse', data: object = {}): Timer => ({
  step,
  due: { at: instant },
  command: { type: 'Lapse', data },
})
const timerAtHeight = (block: number, step = 'guard'): Timer => ({
  step,
  due: { height: block },
  command: { type: 'Guard', data: { block } },
})

/** Cases that every index of deadlines must pass. */
export function timersContract(name: string, open: () => Promise<TimersFixture>): void {
  describe(`timers: ${name}`, () => {
    let fixture: TimersFixture
    let timers: Timers
    beforeEach(async () => {
      fixture = await open()
      timers = fixture.timers
    })
    afterEach(() => fixture.teardown())
    const streams = async (now: number, block?: number, max = 10): Promise<string[]> =>
      (await timers.due('order', now, block, max)).map(({ stream }) => stream)

    it('are due from their exact instant on, oldest first', async () => {
      await timers.replace('order', 'order-b', [timerAt(20)], 1)
      await timers.replace('order', 'order-a', [timerAt(10)], 1)
      await timers.replace('order', 'order-c', [timerAt(30)], 1)
      expect(await streams(9)).toEqual([])
      expect(await streams(20)).toEqual(['order-a', 'order-b'])
      expect(await streams(99, undefined, 2)).toEqual(['order-a', 'order-b'])
    })
    it('with a height are due only for a caller that sees a chain', async () => {
      await timers.replace('order', 'order-a', [timerAtHeight(100)], 1)
      await timers.replace('order', 'order-b', [timerAt(5)], 1)
      expect(await streams(1e15)).toEqual(['order-b'])
      expect(await streams(0, 99)).toEqual([])
      expect((await streams(5, 100)).sort()).toEqual(['order-a', 'order-b'])
    })
    it('are returned as they were stored', async () => {
      const timer = timerAt(1_790_000_000_000, 'lapse', { deadline: 7, text: 'é', nested: { list: [1, null] } })
      await timers.replace('order', 'order-a', [timer], 1)
      expect(await timers.due('order', 1_790_000_000_000, undefined, 1)).toEqual([
        { ...timer, service: 'order', stream: 'order-a' },
      ])
    })
    it('are replaced per stream and service', async () => {
      await timers.replace('order', 'order-a', [timerAt(1), timerAt(2, 'remind')], 1)
      await timers.replace('order', 'order-b', [timerAt(3)], 1)
      await timers.replace('settlement', 'order-a', [timerAt(4)], 1)
      await timers.replace('order', 'order-a', [timerAt(9)], 1)
      expect((await timers.list(10)).map(({ service, stream, due }) => [service, stream, due])).toEqual([
        ['order', 'order-b', { at: 3 }],
        ['settlement', 'order-a', { at: 4 }],
        ['order', 'order-a', { at: 9 }],
      ])
      await timers.replace('order', 'order-a', [], 1)
      expect(await streams(99)).toEqual(['order-b'])
    })
    it('of many streams are replaced by concurrent calls, also twice for one stream', async () => {
      const names = Array.from({ length: 77 }, (_, n) => `order-${String(n).padStart(2, '0')}`)
      await timers.replace('order', 'order-00', [timerAt(1, 'remind')], 1)
      await timers.replace('order', 'order-01', [timerAt(1, 'remind')], 1, [])
      await Promise.all([
        ...names.map((stream, n) => timers.replace('order', stream, [timerAt(n)], 2)),
        timers.replace('order', 'order-05', [timerAt(100), timerAt(101, 'remind')], 4, ['lapse']),
        timers.replace('order', 'order-05', [timerAt(102)], 3, ['lapse']),
        timers.replace('order', 'order-06', [], 3, ['lapse']),
      ])
      const stored = await timers.due('order', 1000, undefined, 100)
      expect(stored.map(({ stream }) => stream).sort()).toEqual(
        [...names, 'order-05'].filter((stream) => stream !== 'order-06').sort(),
      )
      const ofFifth = stored.filter(({ stream }) => stream === 'order-05')
      expect(ofFifth.map(({ step, due }) => [step, due])).toEqual([
        ['lapse', { at: 100 }],
        ['remind', { at: 101 }],
      ])
    })
    it('of a step that is not wanted any more are removed, if the caller names it or names no steps', async () => {
      await timers.replace('order', 'order-a', [timerAt(1), timerAt(2, 'remind')], 1)
      await timers.replace('order', 'order-a', [timerAt(3)], 2, ['lapse', 'remind'])
      await timers.replace('order', 'order-b', [timerAt(1), timerAt(2, 'remind')], 1)
      await timers.replace('order', 'order-b', [timerAt(4, 'remind')], 2)
      expect((await timers.list(10)).map(({ stream, step }) => [stream, step])).toEqual([
        ['order-a', 'lapse'],
        ['order-b', 'remind'],
      ])
    })
    it('of the newer revision stay when two replacements arrive out of order', async () => {
      await timers.replace('order', 'order-a', [timerAt(9)], 7)
      await timers.replace('order', 'order-a', [], 6)
      await timers.replace('order', 'order-a', [timerAt(5), timerAt(6, 'remind')], 6)
      expect((await timers.list(10)).find(({ step }) => step === 'lapse')?.due).toEqual({ at: 9 })
      await timers.replace('order', 'order-a', [timerAt(11)], 8)
      expect((await timers.list(10)).map(({ due }) => due)).toEqual([{ at: 11 }])
    })
    it('are removed after they fired, unless they were replaced meanwhile', async () => {
      await timers.replace('order', 'order-a', [timerAt(1)], 1)
      await timers.replace('order', 'order-b', [timerAtHeight(1)], 1)
      const due = await timers.due('order', 1, 1, 10)
      await timers.replace('order', 'order-a', [timerAt(2)], 1)
      for (const timer of due) await timers.markFired(timer)
      expect((await timers.list(10)).map(({ stream, due: when }) => [stream, when])).toEqual([['order-a', { at: 2 }]])
    })
    it('survive a restart', async () => {
      await timers.replace('order', 'order-a', [timerAt(1), timerAtHeight(2)], 1)
      expect(await (await fixture.reopen()).list(10)).toHaveLength(2)
    })
  })
}
