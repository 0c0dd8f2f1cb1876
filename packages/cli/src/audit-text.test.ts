import { expect, test } from 'vitest'
import { exportFault, headsFault, verifyText } from './audit-text.ts'
import type { Json } from './json.ts'

const log = { heads: 3, signed: true, events_after: 0, late_ms: 0, unproven: null }
const ofOrder = { heads: 3, signed: true, unproven: null, events_after: 0, gone_on: 0 }

test.each([
  ['signed heads up to the end', log, undefined],
  ['none, or a note that is not of the end', { ...log, heads: 0, unproven: 'no heads' }, /no log heads/],
  ['a log that goes on for some seconds', { ...log, events_after: 9, late_ms: 8000 }, undefined],
  ['nothing to compare with', null, /no log heads/],
  ['heads without their key', { ...log, signed: false, unproven: 'no key' }, /No key is there/],
  [
    'heads that end long before the log',
    { ...log, events_after: 290, late_ms: 661_000, unproven: 'late' },
    /for 11 minutes after its last head/,
  ],
  ['many events after the last head', { ...log, events_after: 5001, unproven: 'uncovered' }, /No log head covers the last 5001/],
  [
    'a gap',
    { ...log, unproven: 'gap', gaps: [{ from: 'start', position: '2518', events: 2518, at: 0 }] },
    /2518 events up to position 2518, noted at 1970.* nothing proves/,
  ],
])('what log heads prove: %s', (_, given, said) => {
  expect(headsFault(given, 'store') ?? '').toMatch(said ?? /^$/)
})

test.each(['no heads', 'no key', 'late', 'uncovered'])('what to do about it is what the command takes: %s', (unproven) => {
  const asked = { ...log, unproven }
  // A running service has its own heads and key, and a file no end of the log.
  expect(headsFault(asked, 'service')).not.toMatch(/--heads|--key/)
  expect(exportFault({ log: { ...ofOrder, unproven } })).not.toMatch(/--note/)
})

test.each([
  ['heads that have all of it', {}, {}, undefined],
  ['facts that no head has', { events_after: 3 }, {}, /No log head has 3 of the facts/],
  [
    'facts that no head has, whoever signed them',
    { events_after: 3, unproven: 'no key' },
    { unsigned: true },
    /No log head has 3/,
  ],
  ['streams that have gone on', { gone_on: 2 }, {}, /2 of this order's streams have more facts than the file/],
  ['streams that have gone on, by heads that nobody signed', { gone_on: 2, unproven: 'no key' }, { unsigned: true }, /2 of this/],
  ['an earlier time, where that is enough', { gone_on: 2 }, { earlier: true }, undefined],
  ['an earlier time, of which heads do not have all', { gone_on: 2, events_after: 3 }, { earlier: true }, /No log head has 3/],
  ['heads without their key', { unproven: 'no key' }, {}, /No key is there/],
  ['heads without their key, where that is enough', { unproven: 'no key' }, { unsigned: true }, undefined],
  ['an empty file of heads', { unproven: 'no heads' }, { earlier: true }, /no log heads/],
])('what log heads prove of an exported order: %s', (_, found, content, said) => {
  expect(exportFault({ head: { position: '20' }, log: { ...ofOrder, ...found } }, content) ?? '').toMatch(said ?? /^$/)
})

test('a report says so, whatever else it finds, and gives no note that would vouch for a cut', () => {
  const note = `20:${'5b'.repeat(32)}`
  const report = { divergences: 0, first: null, ledger_balanced: true, log: { ...log, note } }
  const said = (given: Json, unsigned = false): string => verifyText(given, { of: 'store', unsigned })
  expect(said(report)).toContain('Keep the note')
  expect(said(report)).toContain(note)
  expect(said({ ...report, divergences: 1 })).not.toMatch(/Keep the note|5b5b/)
  const cut = { ...report, log: { ...report.log, late_ms: 661_000, unproven: 'late' } }
  const late = said(cut)
  expect(late).toContain('Every stream folds to its recorded state.')
  expect(late).toContain('minutes after its last head')
  expect(late).not.toMatch(/Keep the note|5b5b/)
  // Who is content with it may want to know whether it stays so.
  expect(said(cut, true)).toContain(note)
  expect(said(cut, true)).toContain('What it was before, nothing proves.')
  expect(said({ ...cut, divergences: 1 }, true)).not.toContain(note)
})

test('every finding is printed, and every gap', () => {
  const findings = [
    { stream: 'log', revision: 1863, what: 'the store ends at 1863, the heads know 2518' },
    { stream: 'order-a', revision: 4, what: 'its revision 4 was there, and is gone' },
  ]
  const gaps = [{ from: '10', position: '1863', events: 1853, at: 0 }]
  const said = verifyText(
    { divergences: 2, first: findings[0] ?? null, ledger_balanced: true, findings, log: { ...log, gaps, unproven: 'gap' } },
    { of: 'store' },
  )
  for (const { what } of findings) expect(said).toContain(what)
  expect(said).toMatch(/Gaps.*\n.*\n.*10 +1,?863/)
})
