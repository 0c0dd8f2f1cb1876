import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { watermark } from './watermark.ts'

test('the watermark never passes what is still in hand', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.bigInt({ min: 0n, max: 1000n }), { minLength: 1 }),
      fc.infiniteStream(fc.nat()),
      (numbers, choices) => {
        const positions = numbers.sort((a, b) => (a < b ? -1 : 1))
        const mark = watermark()
        const open: bigint[] = []
        const pick = choices[Symbol.iterator]()
        for (const position of positions) {
          mark.begin(position)
          open.push(position)
          if ((pick.next().value ?? 0) % 2 === 0) mark.end(open.splice((pick.next().value ?? 0) % open.length, 1)[0]!)
          const value = mark.value()
          if (value !== undefined) for (const waiting of open) assert.ok(value < waiting)
        }
        for (const waiting of open) mark.end(waiting)
        assert.equal(mark.value(), positions.at(-1))
      },
    ),
  )
})
