import type { AuthenticatedLnd } from 'lightning'
import { expect, test } from 'vitest'
import type { LndConnection } from './connection.ts'
import { createProber } from './probe.ts'
import { toLndFault } from './rpc-errors.ts'

const destination = `02${'11'.repeat(32)}`
const request = { via: `02${'22'.repeat(32)}`, shortChannelId: '5x1x0', destination, amountMsat: 1000n }

/** A held probe, in the format of lnd. */
const heldProbe = {
  creation_date: '1',
  creation_time_ns: '1000000000',
  fee_msat: '0',
  fee_sat: '0',
  htlcs: [
    {
      attempt_time_ns: '1000000000',
      resolve_time_ns: '0',
      route: {
        hops: [
          {
            amt_to_forward_msat: '1000',
            chan_id: `${(5n << 40n) + (1n << 16n)}`,
            expiry: 100,
            fee_msat: '0',
            pub_key: destination,
            tlv_payload: true,
          },
        ],
        total_amt_msat: '1000',
        total_fees_msat: '0',
        total_time_lock: 100,
      },
      status: 'IN_FLIGHT',
    },
  ],
  payment_hash: '33'.repeat(32),
  payment_index: '7',
  payment_preimage: '00'.repeat(32),
  payment_request: '',
  status: 'IN_FLIGHT',
  value: '1',
  value_msat: '1000',
  value_sat: '1',
}

type Page = { readonly index_offset: number; readonly creation_date_start: number }
type ListPayments = (page: Page, done: (error: null, answer: object) => void) => void

test('a held probe is found on any page of the payments that can still be in flight', async () => {
  const pages: Page[] = []
  const listPayments: ListPayments = (page, done) => {
    pages.push(page)
    const [first, payments] = page.index_offset === 0 ? ['900', []] : page.index_offset === 900 ? ['7', [heldProbe]] : ['0', []]
    done(null, { first_index_offset: first, last_index_offset: '1150', payments })
  }
  const lnd = { default: { listPayments } } as unknown as AuthenticatedLnd // the one call that is made
  const node: LndConnection = {
    clock: {
      now: () => Date.parse('2026-01-15'),
      monotonicMs: () => Date.parse('2026-01-15'),
      sleep: () => Promise.reject(new Error('the probe waits')),
    },
    lnd: () => lnd,
    ask: (work) => work(lnd),
  }
  await expect(createProber(node)(request)).rejects.toThrow('the probe waits')
  expect(pages.map(({ index_offset }) => index_offset)).toEqual([0, 900, 7])
  for (const { creation_date_start } of pages) expect(creation_date_start).toBe(Date.parse('2026-01-01') / 1000)
})

test('concurrent probes read two lists of payments: one for the first probe, and one for all others', async () => {
  let lists = 0
  const listPayments: ListPayments = (_, done) => {
    lists += 1
    setImmediate(() => done(null, { first_index_offset: '1', last_index_offset: '1', payments: [] }))
  }
  const lnd = { default: { listPayments } } as unknown as AuthenticatedLnd // the one call that is answered
  const node: LndConnection = {
    clock: { now: () => 0, monotonicMs: () => 0, sleep: () => Promise.reject(new Error('the probe waits')) },
    lnd: () => lnd,
    ask: (work) => work(lnd),
  }
  const probe = createProber(node)
  await Promise.allSettled(Array.from({ length: 20 }, (_, index) => probe({ ...request, shortChannelId: `${index}x1x0` })))
  expect(lists).toBe(2)
})

/** A route of one hop to the seller, in the format of lnd. */
const toSeller = {
  hops: [
    {
      amt_to_forward_msat: '1001100',
      chan_id: `${(4n << 40n) + (1n << 16n)}`,
      expiry: 400,
      fee_msat: '0',
      pub_key: request.via,
    },
  ],
  total_amt_msat: '1001100',
  total_fees_msat: '0',
  total_time_lock: 400,
}

type Hop = { readonly mpp_record?: { readonly payment_addr: Buffer; readonly total_amt_msat: string } }
type SendToRoute = (
  request: { readonly route: { readonly hops: readonly Hop[] } },
  done: (error: null, answer: object) => void,
) => void

/** Runs a probe whose failure lnd attributes to the given hop. @returns the outcome, and the last hop of the route */
async function failedBy(failure_source_index: number, code: string) {
  let last: Hop | undefined
  const sendToRouteV2: SendToRoute = ({ route }, done) => {
    last = route.hops.at(-1)
    done(null, { failure: { code, failure_source_index, height: 0, htlc_msat: '0' }, preimage: Buffer.alloc(0) })
  }
  const listPayments: ListPayments = (_, done) => done(null, { first_index_offset: '0', last_index_offset: '0', payments: [] })
  const queryRoutes = (_: object, done: (error: null, answer: object) => void): void =>
    done(null, { routes: [toSeller], success_prob: 1 })
  const resetMissionControl = (_: object, done: (error: null) => void): void => done(null)
  // The calls that a probe makes.
  const lnd = {
    default: { listPayments, queryRoutes },
    router: { sendToRouteV2, resetMissionControl },
  } as unknown as AuthenticatedLnd
  const ask: LndConnection['ask'] = (work) => work(lnd).catch((error: unknown) => Promise.reject(toLndFault(error)))
  const clock = { now: () => 0, monotonicMs: () => 0, sleep: () => Promise.reject(new Error('the probe waits')) }
  return { outcome: await createProber({ clock, lnd: () => lnd, ask })(request), last }
}

test.each([
  'INCORRECT_OR_UNKNOWN_PAYMENT_DETAILS',
  'INVALID_ONION_PAYLOAD',
  'FINAL_INCORRECT_CLTV_EXPIRY',
  'FINAL_INCORRECT_HTLC_AMOUNT',
  'TEMPORARY_NODE_FAILURE',
  'UNKNOWN_FAILURE',
])('%s from the last node counts as reached', async (code) => {
  expect((await failedBy(2, code)).outcome).toEqual({ reached: true })
})

test.each([
  [1, 'INCORRECT_OR_UNKNOWN_PAYMENT_DETAILS', 'seller', 'UnknownPaymentHash'],
  [1, 'INVALID_ONION_HMAC', 'seller', 'InvalidOnionHmac'],
  [0, 'UNREADABLE_FAILURE', 'route', 'UnreadableFailure'],
  [0, 'PERMANENT_CHANNEL_FAILURE', 'route', 'PermanentChannelFailure'],
  [3, 'INCORRECT_OR_UNKNOWN_PAYMENT_DETAILS', 'route', 'UnknownPaymentHash'],
])('a failure from hop %i does not count as reached: %s', async (index, code, failedAt, reason) => {
  expect((await failedBy(index, code)).outcome).toEqual({ reached: false, failedAt, reason })
})

test('a probe has a payment secret and a total amount, like a payment of one part', async () => {
  const { last } = await failedBy(2, 'INCORRECT_OR_UNKNOWN_PAYMENT_DETAILS')
  expect(last?.mpp_record?.payment_addr).toHaveLength(32)
  expect(last?.mpp_record?.total_amt_msat).toBe(`${request.amountMsat}`)
})
