import { setImmediate as toldAll } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openGate } from './gate.ts'

const never = new AbortController().signal

test('who waits goes in in the order in which he came, and nobody who comes later is before him', async () => {
  const gate = openGate(1)
  expect([gate.tryEnter(), gate.tryEnter()]).toEqual([true, false])
  const went: string[] = []
  const first = gate.enter(never).then(() => went.push('first'))
  const second = gate.enter(never).then(() => went.push('second'))
  gate.leave()
  expect(gate.tryEnter()).toBe(false)
  await first
  gate.leave()
  await second
  expect(went).toEqual(['first', 'second'])
})

test('no place is lost or made, whoever comes, goes and gives up', async () => {
  const deed = fc.oneof(fc.constantFrom('come', 'come', 'go'), fc.nat({ max: 20 }))
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(deed, { maxLength: 60 }), async (places, deeds) => {
      const gate = openGate(places)
      const patiences: AbortController[] = []
      let inside = 0
      const come = (): void => {
        const patience = new AbortController()
        patiences.push(patience)
        void gate.enter(patience.signal).then((isIn) => (inside += isIn ? 1 : 0))
      }
      const go = (): void => {
        if (inside === 0) return
        inside--
        gate.leave()
      }
      for (const what of deeds) {
        if (typeof what === 'number') patiences[what]?.abort()
        else if (what === 'come') come()
        else go()
        await toldAll()
        expect(inside).toBeLessThanOrEqual(places)
      }
      for (const patience of patiences) patience.abort()
      await toldAll()
      while (inside > 0) go()
      expect(Array.from({ length: places + 1 }, gate.tryEnter)).toEqual([...Array.from({ length: places }, () => true), false])
    }),
  )
})
