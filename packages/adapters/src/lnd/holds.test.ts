import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import type { CancelOutcome, SettleOutcome } from '@penstock/ports/lightning.ts'
import type { AuthenticatedLnd } from 'lightning'
import { describe, expect, test } from 'vitest'
import { stillClock } from '@penstock/ports/still-clock.fixture.ts'
import type { LndConnection } from './connection.ts'
import { createHoldInvoicesPort } from './holds.ts'
import { toLndFault, LndRefusal, LndUnreachable } from './rpc-errors.ts'

const preimage = '11'.repeat(32)
const paymentHash = paymentHashOf(preimage)

type State = 'OPEN' | 'ACCEPTED' | 'SETTLED' | 'CANCELED'
/** An invoice over 5000 sat with one HTLC, in the format of lnd. */
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

/** lnd reports every invoice error with the generic gRPC code 2, except a missing invoice. */
const refusal = (details: string) => ({ code: 2, details })
const NOT_FOUND = { code: 5, details: 'unable to locate invoice' }
const UNAVAILABLE = { code: 14, details: 'No connection established' }

/** A node that gives the listed answers, one per call, and the list of its calls. */
function node(answers: Readonly<Record<string, readonly object[]>>) {
  const asked: object[] = []
  const remaining = new Map(Object.entries(answers).map(([name, all]) => [name, [...all]]))
  const call = (name: string) => (request: object, done: (error: object | null, answer?: object) => void) => {
    asked.push({ [name]: request })
    const answer = remaining.get(name)?.shift() ?? refusal(`unexpected call of ${name}`)
    return 'details' in answer ? done(answer) : done(null, answer)
  }
  // Only the calls of the holds port exist.
  const lnd = {
    default: { lookupInvoice: call('lookupInvoice'), listInvoices: call('listInvoices') },
    invoices: {
      addHoldInvoice: call('addHoldInvoice'),
      settleInvoice: call('settleInvoice'),
      cancelInvoice: call('cancelInvoice'),
    },
  } as unknown as AuthenticatedLnd
  const connection: LndConnection = {
    clock: stillClock,
    lnd: () => lnd,
    ask: (work) => work(lnd).catch((error: unknown) => Promise.reject(toLndFault(error))),
  }
  return { asked, holds: createHoldInvoicesPort(connection, async () => 'a peer') }
}

const id = Buffer.from(paymentHash, 'hex')
const LOOKUP_CALL = { lookupInvoice: { r_hash: id } }
const STATES: readonly string[] = ['OPEN', 'ACCEPTED', 'SETTLED', 'CANCELED'] satisfies readonly State[]

/** The state that the lookup finds, the answer of lnd to the call that follows, and the expected outcome. */
type OutcomeCase<Outcome> = readonly [found: State | 'nothing', reply: string, outcome: Outcome]
const NOT_CALLED = 'not called'

/** A node with the given invoice state and the given reply to one call. NOT_CALLED means that the call must not be made. */
const outcomeOf = (call: string, found: string, reply: string) =>
  node({
    lookupInvoice: [STATES.includes(found) ? invoice(found as State) : NOT_FOUND], // by the line above
    ...(reply !== NOT_CALLED && { [call]: [reply === 'done' ? {} : refusal(reply)] }),
  })

describe('settle', () => {
  test.each<OutcomeCase<SettleOutcome>>([
    ['ACCEPTED', 'done', 'settled'],
    ['nothing', NOT_CALLED, 'unknown'],
    ['SETTLED', NOT_CALLED, 'already-settled'],
    ['CANCELED', NOT_CALLED, 'cancelled'],
    // The state changed after the lookup: the node cancelled or received the payment, or another caller settled it. lnd 0.20.1
    // answers a second settle with success.
    ['ACCEPTED', 'invoice already canceled', 'cancelled'],
    ['OPEN', 'invoice already canceled', 'cancelled'],
    ['OPEN', 'done', 'settled'],
    ['ACCEPTED', 'invoice already settled', 'already-settled'],
    ['OPEN', 'invoice still open', 'not-held'],
    ['ACCEPTED', 'unable to locate invoice', 'unknown'],
  ])('finds the state %s, gets the reply "%s" and returns %s', async (found, reply, outcome) => {
    const { asked, holds } = outcomeOf('settleInvoice', found, reply)
    expect(await holds.settle(preimage)).toBe(outcome)
    const call = { settleInvoice: { preimage: Buffer.from(preimage, 'hex') } }
    expect(asked).toEqual(reply === NOT_CALLED ? [LOOKUP_CALL] : [LOOKUP_CALL, call])
  })
})

describe('cancel', () => {
  test.each<OutcomeCase<CancelOutcome>>([
    ['ACCEPTED', 'done', 'cancelled'],
    ['OPEN', 'done', 'cancelled'],
    ['nothing', NOT_CALLED, 'unknown'],
    ['CANCELED', NOT_CALLED, 'already-cancelled'],
    ['SETTLED', 'invoice already settled', 'settled'],
    // The invoice was settled or cancelled after the lookup. lnd 0.20.1 answers a second cancel with success.
    ['ACCEPTED', 'invoice already settled', 'settled'],
    ['OPEN', 'invoice already settled', 'settled'],
    ['ACCEPTED', 'invoice already canceled', 'already-cancelled'],
  ])('finds the state %s, gets the reply "%s" and returns %s', async (found, reply, outcome) => {
    const { asked, holds } = outcomeOf('cancelInvoice', found, reply)
    expect(await holds.cancel(paymentHash)).toBe(outcome)
    expect(asked).toEqual(reply === NOT_CALLED ? [LOOKUP_CALL] : [LOOKUP_CALL, { cancelInvoice: { payment_hash: id } }])
  })
})

test.each(['settle', 'cancel'] as const)(
  '%s throws if lnd does not answer the call, or refuses the call for another reason',
  async (act) => {
    const call = (lookupInvoice: object, answer: object) =>
      node({ lookupInvoice: [lookupInvoice], [`${act}Invoice`]: [answer] }).holds[act](act === 'settle' ? preimage : paymentHash)
    const held = invoice('ACCEPTED')
    await expect(call(UNAVAILABLE, {})).rejects.toThrow(LndUnreachable)
    await expect(call(held, UNAVAILABLE)).rejects.toThrow(LndUnreachable)
    await expect(call(refusal('database not open'), {})).rejects.toThrow(LndRefusal)
    await expect(call(held, refusal('database not open'))).rejects.toThrow(LndRefusal)
    expect(await call(refusal('there are no existing invoices'), {})).toBe('unknown')
  },
)

test('create returns an invoice that an earlier call with a lost answer created; any other refusal throws', async () => {
  const request = { paymentHash, amountMsat: 5_000_000n, cltvDelta: 80, expirySeconds: 3600, description: 'inbound liquidity' }
  const create = (found: object, reply: object) => node({ lookupInvoice: [found], addHoldInvoice: [reply] }).holds.create(request)
  const exists = refusal('invoice with payment hash already exists')
  expect(await create(invoice('OPEN'), exists)).toMatchObject({ paymentHash, state: 'open', amountMsat: 5_000_000n })
  await expect(create(NOT_FOUND, exists)).rejects.toThrow(/does not find the invoice/)
  await expect(create(invoice('OPEN'), refusal('database not open'))).rejects.toThrow(LndRefusal)
  await expect(create(invoice('OPEN'), UNAVAILABLE)).rejects.toThrow(LndUnreachable)
})

test('an invoice has exactly the requested CLTV delta', async () => {
  const request = { paymentHash, amountMsat: 5_000_000n, cltvDelta: 214, expirySeconds: 3600, description: 'inbound liquidity' }
  const invoiceOf = { network: 'regtest', paymentSecret: 'cd'.repeat(32), createdAt: 1_795_000_000_000 } as const
  const payment_request = encodePaymentRequest({ ...invoiceOf, ...request }, new Uint8Array(32).fill(1))
  const { asked, holds } = node({ addHoldInvoice: [{ payment_request }], lookupInvoice: [invoice('OPEN')] })
  await holds.create(request)
  expect(asked).toMatchObject([{ addHoldInvoice: { cltv_expiry: 214, value_msat: '5000000' } }, LOOKUP_CALL])
})

test('each HTLC of an invoice has its own state', async () => {
  const [part] = invoice('ACCEPTED').htlcs
  const htlcs = ['ACCEPTED', 'CANCELED', 'SETTLED'].map((state) => ({ ...part, state }))
  const found = await node({ lookupInvoice: [{ ...invoice('ACCEPTED'), htlcs }] }).holds.find(paymentHash)
  expect(found?.htlcs.map(({ state }) => state)).toEqual(['held', 'cancelled', 'settled'])
})

test('the list of held invoices covers all pages and omits open invoices', async () => {
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
