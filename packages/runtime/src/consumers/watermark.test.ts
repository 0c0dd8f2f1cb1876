import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { createWatermark } from './watermark.ts'

test('the watermark never passes a position in flight', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.bigInt({ min: 0n, max: 1000n }), { minLength: 1 }),
      fc.infiniteStream(fc.nat()),
      (numbers, choices) => {
        const positions = numbers.sort((a, b) => (a < b ? -1 : 1))
        const mark = createWatermark()
        const open: bigint[] = []
        const pick = choices[Symbol.iterator]()
        for (const position of positions) {
          mark.begin(position)
          open.push(position)
          if ((pick.next().value ?? 0) % 2 === 0) mark.end(open.splice((pick.next().value ?? 0) % open.length, 1)[0]!)
          const value = mark.value()
          if (value === undefined) continue
          for (const waiting of open) assert.ok(value < waiting)
          assert.ok(positions.includes(value), 'the watermark is the position of an event')
        }
        for (const waiting of open) mark.end(waiting)
        assert.equal(mark.value(), positions.at(-1))
      },
    ),
  )
})

test('the watermark is undefined after a position begins again, and never a position without an event', () => {
  const mark = createWatermark()
  for (const position of [100n, 200n, 300n]) mark.begin(position)
  for (const position of [100n, 200n, 300n]) mark.end(position)
  mark.begin(200n)
  assert.equal(mark.value(), undefined)
  mark.end(200n)
  assert.equal(mark.value(), 300n)
})

test('the watermark does not pass a position that begins out of order', () => {
  const mark = createWatermark()
  mark.begin(100n)
  mark.begin(300n)
  mark.begin(200n)
  mark.end(100n)
  assert.equal(mark.value(), 100n)
  mark.end(300n)
  assert.equal(mark.value(), 100n)
})
