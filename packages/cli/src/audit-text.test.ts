import { expect, test } from 'vitest'
import { describeExportFault, describeHeadsFault, formatVerifyReport } from './audit-text.ts'
import type { Json } from './json.ts'

const log = { heads: 3, signed: true, events_after: 0, late_ms: 0, unproven: null }
const orderLog = { heads: 3, signed: true, unproven: null, events_after: 0, gone_on: 0 }

test.each([
  ['signed heads up to the end', log, undefined],
  ['no heads, or a note of an earlier position', { ...log, heads: 0, unproven: 'no heads' }, /no log heads/],
  ['events in the 8 seconds after the last head', { ...log, events_after: 9, late_ms: 8000 }, undefined],
  ['no report about its heads', null, /no log heads/],
  ['heads whose key is missing', { ...log, signed: false, unproven: 'no key' }, /key that checks the signatures .* is missing/],
  [
    'its last head 11 minutes before its end',
    { ...log, events_after: 290, late_ms: 661_000, unproven: 'late' },
    /for 11 minutes after its last head/,
  ],
  ['many events after the last head', { ...log, events_after: 5001, unproven: 'uncovered' }, /No log head covers the last 5001/],
  [
    'a gap in its heads',
    { ...log, unproven: 'gap', gaps: [{ from: 'start', position: '2518', events: 2518, at: 0 }] },
    /2518 events up to position 2518, recorded at 1970.* stays unproven/,
  ],
])('a log with %s has the expected fault text', (_, given, text) => {
  expect(describeHeadsFault(given, 'store') ?? '').toMatch(text ?? /^$/)
})

test.each(['no heads', 'no key', 'late', 'uncovered'])('the remedy for "%s" names only valid options', (unproven) => {
  const report = { ...log, unproven }
  // A running service has its own heads and key. An exported file has no end of the log, so a note is useless.
  expect(describeHeadsFault(report, 'service')).not.toMatch(/--heads|--key/)
  expect(describeExportFault({ log: { ...orderLog, unproven } })).not.toMatch(/--note/)
})

test.each([
  ['heads that cover all of its facts', {}, {}, undefined],
  ['facts that no head covers', { events_after: 3 }, {}, /No log head has 3 of the facts/],
  [
    'facts that no head covers, in spite of --unsigned',
    { events_after: 3, unproven: 'no key' },
    { unsigned: true },
    /No log head has 3/,
  ],
  ['streams that are longer in the log', { gone_on: 2 }, {}, /2 of this order's streams have more facts than the file/],
  ['streams that are longer in the log, with --unsigned', { gone_on: 2, unproven: 'no key' }, { unsigned: true }, /2 of this/],
  ['streams that are longer in the log, with --earlier', { gone_on: 2 }, { earlier: true }, undefined],
  ['facts that no head covers, with --earlier', { gone_on: 2, events_after: 3 }, { earlier: true }, /No log head has 3/],
  ['heads whose key is missing', { unproven: 'no key' }, {}, /key that checks the signatures .* is missing/],
  ['heads whose key is missing, with --unsigned', { unproven: 'no key' }, { unsigned: true }, undefined],
  ['an empty heads file', { unproven: 'no heads' }, { earlier: true }, /no log heads/],
])('an exported order with %s has the expected fault text', (_, found, tolerance, text) => {
  expect(describeExportFault({ head: { position: '20' }, log: { ...orderLog, ...found } }, tolerance) ?? '').toMatch(text ?? /^$/)
})

test('a report prints its note only without divergences, and with a missing proof only if --unsigned accepts that', () => {
  const note = `20:${'5b'.repeat(32)}`
  const report = { divergences: 0, first: null, ledger_balanced: true, log: { ...log, note } }
  const text = (given: Json, unsigned = false): string => formatVerifyReport(given, { source: 'store', unsigned })
  expect(text(report)).toContain('Keep the note')
  expect(text(report)).toContain(note)
  expect(text({ ...report, divergences: 1 })).not.toMatch(/Keep the note|5b5b/)
  const cut = { ...report, log: { ...report.log, late_ms: 661_000, unproven: 'late' } }
  const late = text(cut)
  expect(late).toContain('Every stream folds to its recorded state.')
  expect(late).toContain('minutes after its last head')
  expect(late).not.toMatch(/Keep the note|5b5b/)
  // With --unsigned, the note lets a later audit detect changes from now on.
  expect(text(cut, true)).toContain(note)
  expect(text(cut, true)).toContain('Its earlier state stays unproven.')
  expect(text({ ...cut, divergences: 1 }, true)).not.toContain(note)
})

test('a report prints every finding and every gap', () => {
  const findings = [
    { stream: 'log', revision: 1863, what: 'the store ends at 1863, the heads know 2518' },
    { stream: 'order-a', revision: 4, what: 'its revision 4 was there, and is gone' },
  ]
  const gaps = [{ from: '10', position: '1863', events: 1853, at: 0 }]
  const text = formatVerifyReport(
    { divergences: 2, first: findings[0] ?? null, ledger_balanced: true, findings, log: { ...log, gaps, unproven: 'gap' } },
    { source: 'store' },
  )
  for (const { what } of findings) expect(text).toContain(what)
  expect(text).toMatch(/Gaps.*\n.*\n.*10 +1,?863/)
})
