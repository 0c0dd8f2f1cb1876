import assert from 'node:assert/strict'
import { defineContract } from '@penstock/contracts/define.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { test } from 'vitest'
import { z } from 'zod'
import { readEvent, readFact, sealFacts } from './event-codec.ts'
import { NewerVersionFault } from './upcast.ts'

/** Three shapes of one fact: a price in dollars, then in cents, then in cents with a currency. */
type First = { readonly renter: string; readonly priceUsd: number }
type Second = { readonly renter: string; readonly priceCents: string }
const third = z.strictObject({ renter: z.string(), priceCents: z.string(), currency: z.enum(['usd', 'eur']) })

const locker = defineContract('locker', 'lockers', {
  facts: {
    LockerRented: {
      v: 3,
      schema: third,
      upcast: {
        1: ({ renter, priceUsd }: First): Second => ({ renter, priceCents: `${priceUsd * 100}` }),
        2: (old: Second): z.output<typeof third> => ({ ...old, currency: 'usd' }),
      },
    },
    LockerFreed: { v: 2, schema: z.strictObject({}), upcast: {} },
  },
  commands: {},
  records: {},
})

const stored = (type: string, data: object) => ({ id: 'e1', type, data: JSON.stringify(data), meta: '' })
const newest = { renter: 'ann', priceCents: '500', currency: 'usd' }

test.each([
  [1, { renter: 'ann', priceUsd: 5 }],
  [2, { renter: 'ann', priceCents: '500' }],
  [3, newest],
])('a fact of version %i is read in the shape of version 3', (version, data) => {
  const fact = readFact(locker, stored('LockerRented', data), version)
  assert.deepEqual(fact, { type: 'LockerRented', v: 3, data: newest })
  assert.deepEqual(third.parse(fact.data), newest)
})

test('a fact is upcast from the version that is stored with its event', () => {
  const meta = { command: 'c1', at: 1, correlation: 'o1', trace: 't1' }
  const facts = [{ id: 'e1', fact: { type: 'LockerRented', v: 1, data: { renter: 'ann', priceUsd: 5 } }, meta }]
  const { events } = sealFacts({ stream: 'locker-7', revision: 0, chain: '0'.repeat(64) }, facts)
  const [event] = events.map((sealed) => readEvent(locker, { ...sealed, stream: 'locker-7', revision: 0, position: 1n }))
  assert.deepEqual(event?.fact, { type: 'LockerRented', v: 3, data: newest })
})

test('an unknown type or a newer version throws NewerVersionFault, and a missing upcaster throws Bug', () => {
  const is = (kind: typeof Bug | typeof NewerVersionFault, words: RegExp) => (error: unknown) =>
    error instanceof kind && words.test((error as Error).message)
  assert.throws(
    () => readFact(locker, stored('LockerRented', newest), 4),
    is(NewerVersionFault, /LockerRented v4 is newer than this version/),
  )
  assert.throws(
    () => readFact(locker, stored('LockerSold', {}), 1),
    is(NewerVersionFault, /LockerSold is newer than this version/),
  )
  assert.throws(() => readFact(locker, stored('LockerFreed', {}), 1), is(Bug, /LockerFreed has no upcaster from v1/))
})
