import { Fault } from '@penstock/kernel/result.ts'
import type { Payments, PaymentState } from '@penstock/ports/lightning.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import { createJumpingWallClock } from '@penstock/ports/jumping-wall-clock.fixture.ts'
import { describe, expect, test } from 'vitest'
import { settlementFact, HASH, NOW, makePayoutInvoice, stateAfter, settledHistory } from '../samples.fixture.ts'
import { fakeNode, PREIMAGE } from './fake-node.fixture.ts'
import { LATE_SENDS_OVER_MS, sendPayout } from './send-payout.ts'
import type { SettlementEffectContext } from './ports.ts'

describe('pay', () => {
  const invoice = makePayoutInvoice()
  const paying = (request = invoice.request) =>
    stateAfter(
      ...settledHistory,
      settlementFact('PayoutRequested', { attempt: 2, paymentHash: invoice.paymentHash, request, maxFeeMsat: '20000' }),
    )
  const failed = { state: 'failed', reason: 'no-route' } as const
  test('does not repeat a payment that succeeded', async () => {
    const { calls, context } = fakeNode({ payment: { state: 'succeeded', preimage: PREIMAGE, feeMsat: 5n } })
    expect(await sendPayout(paying(), context)).toEqual({
      type: 'RecordPayout',
      data: { state: 'succeeded', attempt: 2, feeMsat: '5' },
    })
    expect(calls).toEqual(['find payment'])
  })
  test('waits for a payment that is in flight, even after its invoice has expired', async () => {
    const old = makePayoutInvoice({ createdAt: NOW - 900_000_000 })
    const { calls, context } = fakeNode({ payment: { state: 'in-flight' } })
    expect(await sendPayout(paying(old.request), context)).toMatchObject({ data: { state: 'succeeded' } })
    expect(calls).toEqual(['find payment', 'pay at most 20000'])
    await expect(
      sendPayout(paying(), fakeNode({ payment: { state: 'in-flight' }, paid: { state: 'in-flight' } }).context),
    ).rejects.toThrow(Fault)
  })
  test.each([undefined, failed])('sends a payment that was never sent, or that failed: %o', async (payment) => {
    const { calls, context } = fakeNode({ payment })
    expect(await sendPayout(paying(), context)).toEqual({
      type: 'RecordPayout',
      data: { state: 'succeeded', attempt: 2, feeMsat: '7' },
    })
    expect(calls).toEqual(['find payment', 'pay at most 20000'])
  })
  test('sends no payment that the stream no longer requests, or on a stream state that is too old', async () => {
    const { calls, context } = fakeNode({ stillAsked: false })
    expect(await sendPayout(paying(), context)).toBeNull()
    let now = NOW
    const clock = { ...context.ports.clock, now: createJumpingWallClock(() => NOW), monotonicMs: () => (now += 1500) }
    await expect(
      sendPayout(paying(), { ...context, ports: { ...context.ports, clock }, isStillRequested: async () => (now += 1500) > 0 }),
    ).rejects.toThrow(Fault)
    expect(calls).toEqual(['find payment', 'find payment'])
  })
  test('passes a deadline to the node that counts from before the stream was read', async () => {
    const { context } = fakeNode()
    const deadlines: unknown[] = []
    const payments: Payments = {
      ...context.ports.lightning.payments,
      pay: (_, { notAfter }) => {
        deadlines.push(notAfter)
        return Promise.resolve({ state: 'in-flight' })
      },
    }
    const lightning = { ...context.ports.lightning, payments }
    let now = NOW
    const clock = { ...context.ports.clock, now: () => now, monotonicMs: () => now }
    const ports = { ...context.ports, clock, lightning }
    await expect(sendPayout(paying(), { ...context, ports, isStillRequested: async () => (now += 1500) > 0 })).rejects.toThrow(
      'under way',
    )
    expect(deadlines).toEqual([NOW + 2000])
  })
  test('checks the identity of the node before it reads the stream, so that a slow answer does not age that state', async () => {
    const { calls, context } = fakeNode()
    let now = NOW
    const stillRequested = (): Promise<boolean> => {
      calls.push('still requested')
      return Promise.resolve(true)
    }
    const info = () => {
      now += 5000
      calls.push('info')
      return context.ports.lightning.info()
    }
    const lightning = { ...context.ports.lightning, info }
    const ports = { ...context.ports, clock: { ...context.ports.clock, now: () => now, monotonicMs: () => now }, lightning }
    expect(await sendPayout(paying(), { ...context, ports, isStillRequested: stillRequested })).toMatchObject({
      data: { state: 'succeeded' },
    })
    expect(calls).toEqual(['find payment', 'info', 'still requested', 'pay at most 20000'])
  })
  const other = makePayoutInvoice({ createdAt: NOW - 1000 })
  const replaced = stateAfter(
    ...settledHistory,
    settlementFact('PayoutInvoiceSubmitted', { ...other, amountMsat: '1', expiresAt: 1 }),
    settlementFact('PayoutInvoiceAccepted', { paymentHash: other.paymentHash }),
    settlementFact('PayoutRequested', { attempt: 2, paymentHash: HASH, request: invoice.request, maxFeeMsat: '20000' }),
  )
  test.each([
    ['in-flight', { state: 'in-flight' }, new Fault('an earlier payout of this order is still under way')],
    [
      'succeeded',
      { state: 'succeeded', preimage: PREIMAGE, feeMsat: 5n },
      { type: 'RecordPayout', data: { state: 'succeeded', attempt: 2, feeMsat: '5', paymentHash: other.paymentHash } },
    ],
  ] as const)(
    'finds a payment that another replica sends to an earlier invoice at the last moment, even if it arrives late: %s',
    async (_, sent, expected) => {
      // The same holds if the node does not answer about this invoice, which then counts as in flight.
      for (const before of [undefined, { state: 'in-flight' }] as const) {
        const { calls, context } = fakeNode()
        let now = NOW
        // The timeout of a call never passes.
        const sleep = (ms: number): Promise<void> =>
          ms === 30_000 ? new Promise(() => undefined) : Promise.resolve(void (now += ms))
        // The other replica read the stream right before this request and sent two seconds later, over a slow connection.
        const find = (hash: string) =>
          Promise.resolve(hash !== other.paymentHash ? before : now >= NOW + LATE_SENDS_OVER_MS ? sent : undefined)
        const lightning = { ...context.ports.lightning, payments: { ...context.ports.lightning.payments, find } }
        const ports = {
          ...context.ports,
          log: openLogger('silent'),
          clock: { now: () => now, monotonicMs: () => now, sleep },
          lightning,
        }
        expect(await sendPayout(replaced, { ...context, ports }).catch((error: unknown) => error)).toEqual(expected)
        expect(calls).toEqual([])
      }
    },
  )
  test('does not wait for an invoice of another seller whose payment was never requested', async () => {
    const { calls, context } = fakeNode()
    const theirs = makePayoutInvoice({ by: 2, createdAt: NOW - 1000 })
    const state = stateAfter(
      ...settledHistory,
      settlementFact('PayoutInvoiceSubmitted', theirs),
      settlementFact('PayoutInvoiceAccepted', { paymentHash: theirs.paymentHash }),
      settlementFact('PayoutRequested', { attempt: 1, paymentHash: HASH, request: invoice.request, maxFeeMsat: '20000' }),
    )
    const slept: number[] = []
    // The timeout of a call never passes.
    const sleep = (ms: number): Promise<void> => (slept.push(ms), new Promise(() => undefined))
    const ports = { ...context.ports, clock: { ...context.ports.clock, sleep } }
    expect(await sendPayout(state, { ...context, ports })).toMatchObject({ data: { state: 'succeeded', attempt: 1 } })
    expect(calls).toContain('pay at most 20000')
    expect(slept).not.toContain(LATE_SENDS_OVER_MS)
  })
  test('gives up a payment that was never sent if the seller has given a newer invoice', async () => {
    const newer = makePayoutInvoice({ paymentHash: '02'.repeat(32) })
    const state = stateAfter(
      ...settledHistory,
      settlementFact('PayoutInvoiceSubmitted', invoice),
      settlementFact('PayoutInvoiceAccepted', { paymentHash: invoice.paymentHash }),
      settlementFact('PayoutRequested', {
        attempt: 1,
        paymentHash: invoice.paymentHash,
        request: invoice.request,
        maxFeeMsat: '20000',
      }),
      settlementFact('PayoutInvoiceSubmitted', newer),
      settlementFact('PayoutInvoiceAccepted', { paymentHash: newer.paymentHash }),
    )
    const { calls, context } = fakeNode()
    expect(await sendPayout(state, context)).toMatchObject({ data: { state: 'failed', attempt: 1, status: 'NO_ROUTE' } })
    expect(calls).toEqual(['find payment'])
  })
  test('does not give up a payment that the node may have sent', async () => {
    const newer = makePayoutInvoice({ paymentHash: '02'.repeat(32) })
    const state = stateAfter(
      ...settledHistory,
      settlementFact('PayoutInvoiceSubmitted', invoice),
      settlementFact('PayoutInvoiceAccepted', { paymentHash: invoice.paymentHash }),
      settlementFact('PayoutRequested', {
        attempt: 1,
        paymentHash: invoice.paymentHash,
        request: invoice.request,
        maxFeeMsat: '20000',
      }),
      settlementFact('PayoutInvoiceSubmitted', newer),
      settlementFact('PayoutInvoiceAccepted', { paymentHash: newer.paymentHash }),
    )
    const { context } = fakeNode()
    const find = (hash: string) => Promise.resolve(hash === invoice.paymentHash ? ({ state: 'in-flight' } as const) : undefined)
    const payments = { ...context.ports.lightning.payments, find }
    const ports = { ...context.ports, lightning: { ...context.ports.lightning, payments } }
    expect(await sendPayout(state, { ...context, ports })).toMatchObject({ data: { state: 'succeeded', attempt: 1 } })
  })
  test('looks up a hash whose payment was requested, although another invoice with this hash was refused', async () => {
    const newer = makePayoutInvoice({ paymentHash: '02'.repeat(32) })
    const state = stateAfter(
      ...settledHistory,
      settlementFact('PayoutInvoiceSubmitted', invoice),
      settlementFact('PayoutInvoiceAccepted', { paymentHash: invoice.paymentHash }),
      settlementFact('PayoutRequested', {
        attempt: 1,
        paymentHash: invoice.paymentHash,
        request: invoice.request,
        maxFeeMsat: '20000',
      }),
      settlementFact('PayoutInvoiceRefused', { paymentHash: invoice.paymentHash, reason: 'This payment hash was given before.' }),
      settlementFact('PayoutInvoiceSubmitted', newer),
      settlementFact('PayoutInvoiceAccepted', { paymentHash: newer.paymentHash }),
      settlementFact('PayoutFailed', {
        attempt: 1,
        paymentHash: invoice.paymentHash,
        status: 'NO_ROUTE',
        reason: 'x',
        retryAt: null,
      }),
      settlementFact('PayoutRequested', {
        attempt: 2,
        paymentHash: newer.paymentHash,
        request: newer.request,
        maxFeeMsat: '20000',
      }),
    )
    expect(state.payout.invoices[invoice.paymentHash]?.state).toBe('accepted')
    const { calls, context } = fakeNode()
    const paid = { state: 'succeeded', preimage: PREIMAGE, feeMsat: 1n } as const
    const find = (hash: string) => Promise.resolve(hash === invoice.paymentHash ? paid : undefined)
    const lightning = { ...context.ports.lightning, payments: { ...context.ports.lightning.payments, find } }
    const clock = {
      ...context.ports.clock,
      sleep: (ms: number) => (ms === 30_000 ? new Promise<void>(() => undefined) : Promise.resolve()),
    }
    const ports = { ...context.ports, log: openLogger('silent'), clock, lightning }
    expect(await sendPayout(state, { ...context, ports })).toMatchObject({
      data: { state: 'succeeded', paymentHash: invoice.paymentHash },
    })
    expect(calls).not.toContain('pay at most 20000')
  })
  test('does not pay if the process stops during the wait for other payments', async () => {
    const { calls, context } = fakeNode()
    const stop = new AbortController()
    const sleep = (): Promise<void> => Promise.resolve(stop.abort())
    const ports = { ...context.ports, clock: { ...context.ports.clock, sleep } }
    await expect(sendPayout(replaced, { ...context, ports, signal: stop.signal })).rejects.toThrow(Fault)
    expect(calls).toEqual(['find payment'])
  })
  test('sends no payment while another invoice of the order may be paid, or after it was paid', async () => {
    const state = replaced
    const { calls, context } = fakeNode()
    const clock = { ...context.ports.clock, sleep: () => Promise.resolve() }
    const showing = (payment: PaymentState) => ({
      ...context.ports.lightning.payments,
      find: (hash: string) => Promise.resolve(hash === other.paymentHash ? payment : undefined),
    })
    const seeing = (payment: PaymentState): SettlementEffectContext => ({
      ...context,
      ports: {
        ...context.ports,
        clock,
        log: openLogger('silent'),
        lightning: { ...context.ports.lightning, payments: showing(payment) },
      },
    })
    await expect(sendPayout(state, seeing({ state: 'in-flight' }))).rejects.toThrow(Fault)
    expect(await sendPayout(state, seeing({ state: 'succeeded', preimage: PREIMAGE, feeMsat: 5n }))).toEqual({
      type: 'RecordPayout',
      data: { state: 'succeeded', attempt: 2, feeMsat: '5', paymentHash: other.paymentHash },
    })
    expect(calls).toEqual([])
    expect(await sendPayout(state, seeing(failed))).toMatchObject({ data: { feeMsat: '7' } })
  })
  test('does not pay an expired invoice', async () => {
    const { calls, context } = fakeNode()
    expect(await sendPayout(paying(makePayoutInvoice({ createdAt: NOW - 900_000_000 }).request), context)).toMatchObject({
      data: { state: 'failed', status: 'SELLER_INVOICE_EXPIRED' },
    })
    expect(calls).toEqual(['find payment'])
  })
  test.each([
    ['no-route', 'NO_ROUTE'],
    ['insufficient-balance', 'NO_ROUTE'],
    ['timeout', 'NO_ROUTE'],
    ['fee-limit', 'NO_ROUTE'],
    ['rejected-by-destination', 'PAYMENT_REJECTED_BY_DESTINATION'],
    ['invoice-expired', 'SELLER_INVOICE_EXPIRED'],
  ] as const)('reports the failure %s as %s', async (reason, status) => {
    expect(await sendPayout(paying(), fakeNode({ paid: { state: 'failed', reason } }).context)).toMatchObject({
      type: 'RecordPayout',
      data: { state: 'failed', attempt: 2, status },
    })
  })
})
