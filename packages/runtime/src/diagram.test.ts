import assert from 'node:assert/strict'
import { test } from 'vitest'
import { diagram } from './diagram.ts'

test('arrows name their facts, staying facts stand inside, ends are ends', () => {
  const text = diagram({
    initial: 'NONE',
    edges: [
      ['NONE', 'Reserved', 'RESERVED'],
      ['RESERVED', 'Paid', 'RENTED'],
      ['RESERVED', 'Given', 'RENTED'],
      ['RESERVED', 'Noted', 'RESERVED'],
      ['RENTED', 'Noted', 'RENTED'],
    ],
  })
  assert.equal(
    text,
    [
      'stateDiagram-v2',
      '  [*] --> RESERVED: Reserved',
      '  RESERVED --> RENTED: Paid, Given',
      '  RESERVED: RESERVED\\n(Noted)',
      '  RENTED: RENTED\\n(Noted)',
      '  RENTED --> [*]',
    ].join('\n'),
  )
})

test('a machine without a status before its first fact begins at its first status', () => {
  const text = diagram({ initial: 'FREE', edges: [['FREE', 'Reserved', 'FREE']] })
  assert.equal(text, 'stateDiagram-v2\n  [*] --> FREE\n  FREE: FREE\\n(Reserved)\n  FREE --> [*]')
})
