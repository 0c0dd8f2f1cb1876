import assert from 'node:assert/strict'
import { test } from 'vitest'
import { z } from 'zod'
import { type GoldenFiles, checkGoldenFiles, readGoldenFiles } from '../../../tools/golden.ts'
import { contracts } from './contracts.ts'
import { defineContract, v1, type Versioned } from './define.ts'
import { amount, pubkey } from './shapes.ts'

test('every fact and command, at every version, has golden samples that today’s code reads', () => {
  assert.deepEqual(checkGoldenFiles(contracts, readGoldenFiles()), [])
})

/** Fixture: a contract with one fact of the given shape. */
const made = (shape: Versioned) => [
  defineContract('locker', 'lockers', { facts: { LockerRented: shape }, commands: {}, records: {} }),
]
const rented = z.strictObject({ pubkey, priceSat: amount })
const stored = { pubkey: `02${'1'.repeat(64)}`, priceSat: '3000' }
const line = (type: string, v: number, data: object, variant = ''): string => `${JSON.stringify({ type, v, variant, data })}\n`
const file = (...lines: readonly string[]): GoldenFiles => new Map([['locker', lines.join('')]])
const first = line('LockerRented', 1, stored)

/** Asserts that there is exactly one fault, whose text matches. */
function assertFault(shape: Versioned, golden: GoldenFiles, words: RegExp): void {
  const faults = checkGoldenFiles(made(shape), golden)
  assert.equal(faults.length, 1, faults.join('\n'))
  assert.match(`${faults[0]}`, words)
}

test('a complete file has no fault', () => assert.deepEqual(checkGoldenFiles(made(v1(rented)), file(first)), []))

test('a message without a golden sample is reported with the command that creates the sample', () => {
  assertFault(v1(rented), new Map(), /^locker\.jsonl: LockerRented v1 is missing: run node tools\/golden\.ts$/)
})

test('an additional enum value, or a field that becomes nullable, needs a sample and no new version', () => {
  const words = z.strictObject({ ...rented.shape, source: z.enum(['buy', 'manual']) })
  const known = file(line('LockerRented', 1, { ...stored, source: 'buy' }))
  assertFault(v1(words), known, /LockerRented v1 \(manual\) is missing/)
  assertFault(v1(rented.extend({ priceSat: amount.nullable() })), file(first), /LockerRented v1 \(sparse\) is missing/)
})

test.each([
  ['a key that has to be there', rented.extend({ sizeSat: amount })],
  ['a key that may be missing', rented.extend({ sizeSat: amount.optional() })],
  ['a key less', rented.omit({ priceSat: true })],
  ['another name', rented.omit({ priceSat: true }).extend({ sizeSat: amount })],
  ['another type', rented.extend({ priceSat: z.int() })],
  ['a word less', rented.extend({ priceSat: z.enum(['1000', '2000']) })],
  ['a default', rented.extend({ attempt: z.int().default(1) })],
])('a changed shape with an unchanged version is reported: %s', (_what, schema) => {
  const faults = checkGoldenFiles(made(v1(schema)), file(first)).filter((fault) => !fault.includes('is missing'))
  assert.ok(faults.length > 0)
  for (const fault of faults) assert.match(fault, /give LockerRented version 2 with upcast\[1\].*run node tools\/golden\.ts/)
})

const second = z.strictObject({ pubkey, amountMsat: amount })
const toSecond = { 1: (old: z.output<typeof rented>) => ({ pubkey: old.pubkey, amountMsat: `${old.priceSat}000` }) }
const newest = line('LockerRented', 2, { pubkey: stored.pubkey, amountMsat: '3000000' })

test('an old version stays readable through its upcaster, and its sample has to remain', () => {
  const shape = { v: 2, schema: second, upcast: toSecond }
  assert.deepEqual(checkGoldenFiles(made(shape), file(first, newest)), [])
  assertFault(shape, file(newest), /LockerRented v1 is gone: stores or the bus may hold that version, take it back/)
  assertFault({ ...shape, upcast: {} }, file(first, newest), /v1 .*no upcaster from v1/)
  const careless = { 1: (old: object) => old }
  assertFault({ ...shape, upcast: careless }, file(first, newest), /v1 cannot be read any more/)
})

test('a command has samples of its last two versions only', () => {
  const upcast = { ...toSecond, 2: (old: z.output<typeof second>) => ({ ...old, size: 1 }) }
  const shape = { v: 3, schema: second.extend({ size: z.int() }), upcast }
  const commands = [
    defineContract('locker', 'lockers', { facts: {}, commands: { LockerRented: shape }, records: { LockerRented: [] } }),
  ]
  const third = line('LockerRented', 3, { pubkey: stored.pubkey, amountMsat: '3000000', size: 1 })
  assert.deepEqual(checkGoldenFiles(commands, file(newest, third)), [])
  assert.match(
    checkGoldenFiles(commands, file(first, newest, third)).join(),
    /^locker\.jsonl: LockerRented v1 is on no bus any more/,
  )
  assert.match(checkGoldenFiles(commands, file(third)).join(), /^locker\.jsonl: LockerRented v2 is gone/)
})

test('a line of an unknown message or version, a repeated line and a malformed line are reported', () => {
  assertFault(v1(rented), file(first, line('LockerSold', 1, {})), /LockerSold belongs to no message/)
  assertFault(v1(rented), file(first, line('LockerRented', 2, stored)), /v2 .*newer than this version/)
  assertFault(v1(rented), file(first, first), /LockerRented v1 is there twice/)
  for (const text of ['{', '"text"', '{"type":"LockerRented"}'])
    assertFault(v1(rented), file(first, `${text}\n`), /line 2 is no sample/)
  assertFault(v1(rented), new Map([...file(first), ['shelf', first]]), /^shelf\.jsonl belongs to no contract/)
})

test('a fact and a command of one contract with the same name are reported', () => {
  const both = [
    defineContract('locker', 'lockers', {
      facts: { LockerRented: v1(rented) },
      commands: { LockerRented: v1(rented) },
      records: { LockerRented: ['LockerRented'] },
    }),
  ]
  assert.match(`${checkGoldenFiles(both, file(first))[0]}`, /has a fact and a command LockerRented: rename one/)
})
