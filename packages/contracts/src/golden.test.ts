import assert from 'node:assert/strict'
import { test } from 'vitest'
import { z } from 'zod'
import { goldenFaults, goldenFiles } from '../../../tools/golden.ts'
import { contracts } from './all.ts'
import { contract, v1, type Versioned } from './define.ts'
import { amount, pubkey } from './shapes.ts'

test('every fact and command, at every version, has golden files that today’s code reads', () => {
  assert.deepEqual(goldenFaults(contracts, goldenFiles()), [])
})

/** A contract of its own for the faults: one fact, with the given shape. */
const made = (shape: Versioned) => [
  contract('locker', 'lockers', { facts: { LockerRented: shape }, commands: {}, fromOthers: [] }),
]
const rented = z.strictObject({ pubkey, priceSat: amount })
const stored = `{ "pubkey": "02${'1'.repeat(64)}", "priceSat": "3000" }`
const files = (...texts: readonly (readonly [string, string])[]) =>
  new Map(texts.map(([name, text]) => [`locker/${name}.json`, text]))
const kept = files(['LockerRented.v1', stored])

/** Exactly one fault, which says this. */
function assertFault(shape: Versioned, of: ReadonlyMap<string, string>, words: RegExp): void {
  const faults = goldenFaults(made(shape), of)
  assert.equal(faults.length, 1, faults.join('\n'))
  assert.match(`${faults[0]}`, words)
}

test('what is complete has no fault', () => assert.deepEqual(goldenFaults(made(v1(rented)), kept), []))

test('a message without its file is told how to get it', () => {
  assertFault(v1(rented), new Map(), /^locker\/LockerRented\.v1\.json is missing: run node tools\/golden\.ts$/)
})

test('a word or null that may be written from now on needs a sample, and no new version', () => {
  const words = z.strictObject({ ...rented.shape, source: z.enum(['buy', 'manual']) })
  const known = files(['LockerRented.v1', stored.replace('}', ', "source": "buy" }')])
  assertFault(v1(words), known, /^locker\/LockerRented\.v1\.manual\.json is missing/)
  assertFault(v1(rented.extend({ priceSat: amount.nullable() })), kept, /^locker\/LockerRented\.v1\.sparse\.json is missing/)
})

test.each([
  ['a key that has to be there', rented.extend({ sizeSat: amount })],
  ['a key that may be missing', rented.extend({ sizeSat: amount.optional() })],
  ['a key less', rented.omit({ priceSat: true })],
  ['another name', rented.omit({ priceSat: true }).extend({ sizeSat: amount })],
  ['another type', rented.extend({ priceSat: z.int() })],
  ['a word less', rented.extend({ priceSat: z.enum(['1000', '2000']) })],
  ['a default', rented.extend({ attempt: z.int().default(1) })],
])('a shape that changed under its version is found: %s', (_what, schema) => {
  const faults = goldenFaults(made(v1(schema)), kept).filter((fault) => !fault.includes('is missing'))
  assert.ok(faults.length > 0)
  for (const fault of faults) assert.match(fault, /give LockerRented version 2 with upcast\[1\].*run node tools\/golden\.ts/)
})

test('an old version stays readable through its upcaster, and its file stays', () => {
  const second = z.strictObject({ pubkey, amountMsat: amount })
  const upcast = { 1: (old: z.output<typeof rented>) => ({ pubkey: old.pubkey, amountMsat: `${old.priceSat}000` }) }
  const newest: readonly [string, string] = ['LockerRented.v2', `{ "pubkey": "02${'1'.repeat(64)}", "amountMsat": "3000000" }`]
  const shape = { v: 2, schema: second, upcast }
  assert.deepEqual(goldenFaults(made(shape), new Map([...kept, ...files(newest)])), [])
  assertFault(shape, files(newest), /LockerRented\.v1\.json is gone: stores may hold that version, take it back/)
  assertFault({ ...shape, upcast: {} }, new Map([...kept, ...files(newest)]), /v1\.json .*no upcaster from v1/)
  const careless = { 1: (old: object) => old }
  assertFault({ ...shape, upcast: careless }, new Map([...kept, ...files(newest)]), /v1\.json cannot be read any more/)
})

test('a file that belongs to no message, to a version that nobody made, or that is no JSON, is found', () => {
  assertFault(v1(rented), new Map([...kept, ...files(['LockerSold.v1', '{}'])]), /LockerSold\.v1\.json belongs to no message/)
  assertFault(v1(rented), new Map([...kept, ...files(['LockerRented', '{}'])]), /LockerRented\.json belongs to no message/)
  assertFault(v1(rented), new Map([...kept, ...files(['LockerRented.v2', stored])]), /v2\.json .*newer than this version/)
  assertFault(v1(rented), new Map([...kept, ...files(['LockerRented.v1.old', '{'])]), /is no JSON/)
})

test('a fact and a command of one contract have two names', () => {
  const both = [
    contract('locker', 'lockers', {
      facts: { LockerRented: v1(rented) },
      commands: { LockerRented: v1(rented) },
      fromOthers: [],
    }),
  ]
  assert.match(`${goldenFaults(both, kept)[0]}`, /has a fact and a command LockerRented: rename one/)
})
