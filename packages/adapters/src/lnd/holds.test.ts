import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import type { CancelOutcome, SettleOutcome } from '@penstock/ports/lightning.ts'
import type { AuthenticatedLnd } from 'lightning'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../system/clock.ts'
import type { Connection } from './connection.ts'
import { holdInvoices } from './holds.ts'
import { asFault, Refusal, Unreached } from './refusal.ts'

const preimage = '11'.repeat(32)
const paymentHash = paymentHashOf(preimage)

type State = 'OPEN' | 'ACCEPTED' | 'SETTLED' | 'CANCELED'
/** As lnd shows an invoice over 5000 sat with one part of it. */
const invoice = (state: State, hash = paymentHash) => ({
  add_index: '1',
  amt_paid_msat: '0',
  amt_paid_sat: '0',
  cltv_expiry: '80',
  creation_date: '1795000000',
  description_hash: Buffer.alloc(0),
  expiry: '3600',
  features: {},
  htlcs: [
    {
      accept_height: 500,
      accept_time: '1795000001',
      amt_msat: '5000000',
      chan_id: '1099511693312',
      custom_records: {},
      expiry_height: 583,
      htlc_index: '3',
      mpp_total_amt_msat: '5000000',
      resolve_time: '0',
      state: 'ACCEPTED',
    },
  ],
  memo: 'inbound liquidity',
  payment_addr: Buffer.alloc(32, 1),
  payment_request: 'lnbcrt50u1',
  r_hash: Buffer.from(hash, 'hex'),
  r_preimage: Buffer.alloc(32),
  settle_date: '1795000002',
  settle_index: '0',
  state,
  value: '5000',
  value_msat: '5000000',
})

/** lnd's errors of invoices have no code of their own, but where it looks for one. */
const no = (details: string) => ({ code: 2, details })
const NOT_FOUND = { code: 5, details: 'unable to locate invoice' }
const GONE = { code: 14, details: 'No connection established' }

/** A node that answers each call so, call after call where there are several answers, and what it was asked. */
function node(answers: Readonly<Record<string, readonly object[]>>) {
  const asked: object[] = []
  const left = new Map(Object.entries(answers).map(([name, all]) => [name, [...all]]))
  const call = (name: string) => (request: object, done: (error: object | null, answer?: object) => void) => {
    asked.push({ [name]: request })
    const answer = left.get(name)?.shift() ?? no(`${name} is not to be called`)
    return 'details' in answer ? done(answer) : done(null, answer)
  }
  // Only what holds call is there.
  const lnd = {
    default: { lookupInvoice: call('lookupInvoice'), listInvoices: call('listInvoices') },
    invoices: {
      addHoldInvoice: call('addHoldInvoice'),
      settleInvoice: call('settleInvoice'),
      cancelInvoice: call('cancelInvoice'),
    },
  } as unknown as AuthenticatedLnd
  const connection: Connection = {
    clock: systemClock,
    lnd: () => lnd,
    ask: (work) => work(lnd).catch((error: unknown) => Promise.reject(asFault(error))),
  }
  return { asked, holds: holdInvoices(connection, async () => 'a peer') }
}

const id = Buffer.from(paymentHash, 'hex')
const look = { lookupInvoice: { r_hash: id } }
const STATES: readonly string[] = ['OPEN', 'ACCEPTED', 'SETTLED', 'CANCELED'] satisfies readonly State[]

/** What the look finds, what lnd says to the call that follows, and what is made of both. */
type Told<Outcome> = readonly [found: State | 'nothing', said: string, outcome: Outcome]
const NOT_ASKED = 'not asked'

/** What a node shows and says to one call, and whether it is asked for it at all. */
const telling = (call: string, found: string, said: string) =>
  node({
    lookupInvoice: [STATES.includes(found) ? invoice(found as State) : NOT_FOUND], // by the line above
    ...(said !== NOT_ASKED && { [call]: [said === 'done' ? {} : no(said)] }),
  })

describe('settle', () => {
  test.each<Told<SettleOutcome>>([
    ['ACCEPTED', 'done', 'settled'],
    ['nothing', NOT_ASKED, 'unknown'],
    ['SETTLED', NOT_ASKED, 'already-settled'],
    ['CANCELED', NOT_ASKED, 'cancelled'],
    // Since the look the node gave the payment back, or it came, or somebody else took it; lnd 0.20.1 calls the last one done.
    ['ACCEPTED', 'invoice already canceled', 'cancelled'],
    ['OPEN', 'invoice already canceled', 'cancelled'],
    ['OPEN', 'done', 'settled'],
    ['ACCEPTED', 'invoice already settled', 'already-settled'],
    ['OPEN', 'invoice still open', 'not-held'],
    ['ACCEPTED', 'unable to locate invoice', 'unknown'],
  ])('%s, %s: %s', async (found, said, outcome) => {
    const { asked, holds } = telling('settleInvoice', found, said)
    expect(await holds.settle(preimage)).toBe(outcome)
    const call = { settleInvoice: { preimage: Buffer.from(preimage, 'hex') } }
    expect(asked).toEqual(said === NOT_ASKED ? [look] : [look, call])
  })
})

describe('cancel', () => {
  test.each<Told<CancelOutcome>>([
    ['ACCEPTED', 'done', 'cancelled'],
    ['OPEN', 'done', 'cancelled'],
    ['nothing', NOT_ASKED, 'unknown'],
    ['CANCELED', NOT_ASKED, 'already-cancelled'],
    ['SETTLED', 'invoice already settled', 'settled'],
    // Since the look it was settled, or cancelled; lnd 0.20.1 calls the last one done.
    ['ACCEPTED', 'invoice already settled', 'settled'],
    ['OPEN', 'invoice already settled', 'settled'],
    ['ACCEPTED', 'invoice already canceled', 'already-cancelled'],
  ])('%s, %s: %s', async (found, said, outcome) => {
    const { asked, holds } = telling('cancelInvoice', found, said)
    expect(await holds.cancel(paymentHash)).toBe(outcome)
    expect(asked).toEqual(said === NOT_ASKED ? [look] : [look, { cancelInvoice: { payment_hash: id } }])
  })
})

test.each(['settle', 'cancel'] as const)(
  '%s: what lnd did not answer, or refused for another reason, is no outcome',
  async (act) => {
    const does = (lookupInvoice: object, answer: object) =>
      node({ lookupInvoice: [lookupInvoice], [`${act}Invoice`]: [answer] }).holds[act](act === 'settle' ? preimage : paymentHash)
    const held = invoice('ACCEPTED')
    await expect(does(GONE, {})).rejects.toThrow(Unreached)
    await expect(does(held, GONE)).rejects.toThrow(Unreached)
    await expect(does(no('database not open'), {})).rejects.toThrow(Refusal)
    await expect(does(held, no('database not open'))).rejects.toThrow(Refusal)
    expect(await does(no('there are no existing invoices'), {})).toBe('unknown')
  },
)

test('an invoice that was made before, by a call whose answer was lost, is the same one; any other no is none', async () => {
  const request = { paymentHash, amountMsat: 5_000_000n, cltvDelta: 80, expirySeconds: 3600, description: 'inbound liquidity' }
  const create = (found: object, said: object) => node({ lookupInvoice: [found], addHoldInvoice: [said] }).holds.create(request)
  const exists = no('invoice with payment hash already exists')
  expect(await create(invoice('OPEN'), exists)).toMatchObject({ paymentHash, state: 'open', amountMsat: 5_000_000n })
  await expect(create(NOT_FOUND, exists)).rejects.toThrow(/does not find the invoice/)
  await expect(create(invoice('OPEN'), no('database not open'))).rejects.toThrow(Refusal)
  await expect(create(invoice('OPEN'), GONE)).rejects.toThrow(Unreached)
})

test('the CLTV delta of an invoice is exactly the one that was asked for', async () => {
  const request = { paymentHash, amountMsat: 5_000_000n, cltvDelta: 214, expirySeconds: 3600, description: 'inbound liquidity' }
  const invoiceOf = { network: 'regtest', paymentSecret: 'cd'.repeat(32), createdAt: 1_795_000_000_000 } as const
  const payment_request = encodePaymentRequest({ ...invoiceOf, ...request }, new Uint8Array(32).fill(1))
  const { asked, holds } = node({ addHoldInvoice: [{ payment_request }], lookupInvoice: [invoice('OPEN')] })
  await holds.create(request)
  expect(asked).toMatchObject([{ addHoldInvoice: { cltv_expiry: 214, value_msat: '5000000' } }, look])
})

test('a part that was given back is cancelled, and counts neither as held nor as settled', async () => {
  const [part] = invoice('ACCEPTED').htlcs
  const htlcs = ['ACCEPTED', 'CANCELED', 'SETTLED'].map((state) => ({ ...part, state }))
  const found = await node({ lookupInvoice: [{ ...invoice('ACCEPTED'), htlcs }] }).holds.find(paymentHash)
  expect(found?.htlcs.map(({ state }) => state)).toEqual(['held', 'cancelled', 'settled'])
})

test('what is held is read page by page; what is open is none of it', async () => {
  const [old, young] = ['aa'.repeat(32), 'bb'.repeat(32)]
  const { asked, holds } = node({
    listInvoices: [
      { invoices: [invoice('OPEN'), invoice('ACCEPTED', young)], first_index_offset: '7', last_index_offset: '8' },
      { invoices: [invoice('ACCEPTED', old), invoice('OPEN')], first_index_offset: '1', last_index_offset: '6' },
    ],
  })
  expect((await holds.held()).map(({ paymentHash: hash, state }) => [hash, state])).toEqual([
    [young, 'held'],
    [old, 'held'],
  ])
  const page = (index_offset: number) => ({ listInvoices: { index_offset, pending_only: true } })
  expect(asked).toMatchObject([page(0), page(7)])
})
