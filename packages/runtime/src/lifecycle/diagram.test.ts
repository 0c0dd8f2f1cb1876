import assert from 'node:assert/strict'
import { test } from 'vitest'
import { renderDiagram } from './diagram.ts'

test('an arrow lists its facts, a state lists facts that do not change it, and a final state has an end', () => {
  const text = renderDiagram({
    initial: 'NONE',
    edges: [
      ['NONE', 'Reserved', 'RESERVED'],
      ['RESERVED', 'Paid', 'RENTED'],
      ['RESERVED', 'Given', 'RENTED'],
      ['RESERVED', 'Recorded', 'RESERVED'],
      ['RENTED', 'Recorded', 'RENTED'],
    ],
  })
  assert.equal(
    text,
    [
      'stateDiagram-v2',
      '  [*] --> RESERVED: Reserved',
      '  RESERVED --> RENTED: Paid, Given',
      '  RESERVED: RESERVED\\n(Recorded)',
      '  RENTED: RENTED\\n(Recorded)',
      '  RENTED --> [*]',
    ].join('\n'),
  )
})

test('the start arrow leads to the initial status if that is not NONE', () => {
  const text = renderDiagram({ initial: 'FREE', edges: [['FREE', 'Reserved', 'FREE']] })
  assert.equal(text, 'stateDiagram-v2\n  [*] --> FREE\n  FREE: FREE\\n(Reserved)\n  FREE --> [*]')
})
