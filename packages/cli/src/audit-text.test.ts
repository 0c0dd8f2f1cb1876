import { expect, test } from 'vitest'
import { exportFault, headsFault, verifyText } from './audit-text.ts'

const log = { heads: 3, signed: true, events_after: 0, late_ms: 0, unproven: null }

test.each([
  ['signed heads up to the end', log, undefined],
  ['none, or a note that is not of the end', { ...log, heads: 0, unproven: 'no heads' }, /no log heads/],
  ['a log that goes on for some seconds', { ...log, events_after: 9, late_ms: 8000 }, undefined],
  ['nothing to compare with', null, /no log heads/],
  ['heads without their key', { ...log, signed: false, unproven: 'no key' }, /no key is there/],
  [
    'heads that end long before the log',
    { ...log, events_after: 290, late_ms: 661_000, unproven: 'late' },
    /for 11 minutes after its last head/,
  ],
])('what log heads prove: %s', (_, given, said) => {
  expect(headsFault(given) ?? '').toMatch(said ?? /^$/)
})

const ofOrder = { heads: 3, signed: true, unproven: null, events_after: 0, gone_on: 0 }
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
  ['heads without their key', { unproven: 'no key' }, {}, /no key is there/],
  ['heads without their key, where that is enough', { unproven: 'no key' }, { unsigned: true }, undefined],
  ['an empty file of heads', { unproven: 'no heads' }, { earlier: true }, /no log heads/],
])('what log heads prove of an exported order: %s', (_, found, content, said) => {
  expect(exportFault({ head: { position: '20' }, log: { ...ofOrder, ...found } }, content) ?? '').toMatch(said ?? /^$/)
})

test('a report says so, whatever else it finds, and gives no note that would vouch for a cut', () => {
  const report = { divergences: 0, first: null, ledger_balanced: true, log }
  expect(verifyText(report)).toContain('Keep the note')
  expect(verifyText({ ...report, divergences: 1 })).not.toContain('Keep the note')
  const late = verifyText({ ...report, log: { ...log, late_ms: 661_000, unproven: 'late' } })
  expect(late).toContain('Every stream folds to its recorded state.')
  expect(late).toContain('minutes after its last head')
  expect(late).not.toContain('Keep the note')
})
