import { expect, test } from 'vitest'
import { exportFault, headsFault, verifyText } from './audit-text.ts'

const NOTE = '20:ab'
const log = { heads: 3, signed: true, events_after: 0, late_ms: 0 }

test.each([
  ['signed heads up to the end', log, undefined],
  ['a log that was compared with a note alone', { ...log, heads: 0, signed: false }, undefined, '7:cd'],
  ['a file of heads without any', { ...log, heads: 0, signed: false }, /no log heads/],
  ['the note of an empty log', { ...log, heads: 0, signed: false }, /no log heads/, 'start:00'],
  ['the note of an empty log beside heads without their key', { ...log, signed: false }, /no key is there/, 'start:00'],
  ['a log that goes on for some seconds', { ...log, events_after: 9, late_ms: 8000 }, undefined],
  ['nothing to compare with', null, /no log heads/],
  ['heads without their key', { ...log, signed: false }, /no key is there/],
  ['heads that end long before the log', { ...log, events_after: 290, late_ms: 661_000 }, /for 11 minutes after its last head/],
  ['a note of the end beside heads without their key', { ...log, signed: false, note: NOTE }, undefined, NOTE],
  ['a note of the end beside heads that end long before', { ...log, late_ms: 661_000, note: NOTE }, undefined, NOTE],
  [
    'an older note beside heads that end long before',
    { ...log, late_ms: 661_000, note: '9:cd' },
    /a note of the log's end/,
    NOTE,
  ],
])('what log heads prove: %s', (_, given, said, note?: string) => {
  expect(headsFault(given, note) ?? '').toMatch(said ?? /^$/)
})

test.each([
  ['heads that have all of it', {}, undefined],
  ['facts that no head has', { log: { ...log, events_after: 3 } }, /No log head has 3 of the facts/],
  ['a file of a store without heads', { head: null }, /names no log head/],
  ['heads without their key', { log: { ...log, signed: false } }, /no key is there/],
  ['an empty file of heads', { log: { ...log, heads: 0 } }, /no log heads/],
])('what log heads prove of an exported order: %s', (_, given, said) => {
  expect(exportFault({ head: { position: '20' }, log, ...given }) ?? '').toMatch(said ?? /^$/)
})

test('a report says so, whatever else it finds', () => {
  const report = { divergences: 0, first: null, ledger_balanced: true, log: { ...log, late_ms: 661_000 } }
  expect(verifyText(report)).toContain('Every stream folds to its recorded state.')
  expect(verifyText(report)).toContain('minutes after its last head')
})
