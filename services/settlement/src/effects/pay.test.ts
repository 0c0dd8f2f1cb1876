import { Fault } from '@penstock/kernel/result.ts'
import type { Payments, PaymentState } from '@penstock/ports/lightning.ts'
import { openLog } from '@penstock/runtime/log.ts'
import { jumpingWall } from '@penstock/ports/jumping-wall.contract.ts'
import { describe, expect, test } from 'vitest'
import { fact, HASH, NOW, payoutInvoice, stateAfter, toSettled } from '../samples.contract.ts'
import { fake, PREIMAGE } from './fake-node.contract.ts'
import { LOOKS_ARE_OVER_MS, pay } from './pay.ts'
import type { Context } from './ports.ts'

describe('pay', () => {
  const invoice = payoutInvoice()
  const paying = (request = invoice.request) =>
    stateAfter(
      ...toSettled,
      fact('PayoutRequested', { attempt: 2, paymentHash: invoice.paymentHash, request, maxFeeMsat: '20000' }),
    )
  const failed = { state: 'failed', reason: 'no-route' } as const
  test('an attempt that succeeded is not repeated', async () => {
    const { calls, context } = fake({ payment: { state: 'succeeded', preimage: PREIMAGE, feeMsat: 5n } })
    expect(await pay(paying(), context)).toEqual({ type: 'RecordPayout', data: { state: 'succeeded', attempt: 2, feeMsat: '5' } })
    expect(calls).toEqual(['find payment'])
  })
  test('one under way is continued, also past the end of its invoice', async () => {
    const old = payoutInvoice({ createdAt: NOW - 900_000_000 })
    const { calls, context } = fake({ payment: { state: 'in-flight' } })
    expect(await pay(paying(old.request), context)).toMatchObject({ data: { state: 'succeeded' } })
    expect(calls).toEqual(['find payment', 'pay at most 20000'])
    await expect(pay(paying(), fake({ payment: { state: 'in-flight' }, paid: { state: 'in-flight' } }).context)).rejects.toThrow(
      Fault,
    )
  })
  test.each([undefined, failed])('one that was never begun, or failed, is begun: %o', async (payment) => {
    const { calls, context } = fake({ payment })
    expect(await pay(paying(), context)).toEqual({ type: 'RecordPayout', data: { state: 'succeeded', attempt: 2, feeMsat: '7' } })
    expect(calls).toEqual(['find payment', 'pay at most 20000'])
  })
  test('nothing is paid that the stream asks for no more, nor by a look that is too old', async () => {
    const { calls, context } = fake({ stillAsked: false })
    expect(await pay(paying(), context)).toBeNull()
    let now = NOW
    const clock = { ...context.ports.clock, now: jumpingWall(() => NOW), monotonicMs: () => (now += 1500) }
    await expect(
      pay(paying(), { ...context, ports: { ...context.ports, clock }, stillAsked: async () => (now += 1500) > 0 }),
    ).rejects.toThrow(Fault)
    expect(calls).toEqual(['find payment', 'find payment'])
  })
  test('the node is told until when the look counts, from before it was taken', async () => {
    const { context } = fake()
    const told: unknown[] = []
    const payments: Payments = {
      ...context.ports.lightning.payments,
      pay: (_, { notAfter }) => {
        told.push(notAfter)
        return Promise.resolve({ state: 'in-flight' })
      },
    }
    const lightning = { ...context.ports.lightning, payments }
    let now = NOW
    const clock = { ...context.ports.clock, now: () => now, monotonicMs: () => now }
    const ports = { ...context.ports, clock, lightning }
    await expect(pay(paying(), { ...context, ports, stillAsked: async () => (now += 1500) > 0 })).rejects.toThrow('under way')
    expect(told).toEqual([NOW + 2000])
  })
  test('the node is asked who it is before the last look, which its answer must not make too old', async () => {
    const { calls, context } = fake()
    let now = NOW
    const asked = (): Promise<boolean> => {
      calls.push('still asked')
      return Promise.resolve(true)
    }
    const info = () => {
      now += 5000
      calls.push('info')
      return context.ports.lightning.info()
    }
    const lightning = { ...context.ports.lightning, info }
    const ports = { ...context.ports, clock: { ...context.ports.clock, now: () => now, monotonicMs: () => now }, lightning }
    expect(await pay(paying(), { ...context, ports, stillAsked: asked })).toMatchObject({ data: { state: 'succeeded' } })
    expect(calls).toEqual(['find payment', 'info', 'still asked', 'pay at most 20000'])
  })
  const other = payoutInvoice({ createdAt: NOW - 1000 })
  const replaced = stateAfter(
    ...toSettled,
    fact('PayoutInvoiceOffered', { ...other, amountMsat: '1', expiresAt: 1 }),
    fact('PayoutInvoiceTaken', { paymentHash: other.paymentHash }),
    fact('PayoutRequested', { attempt: 2, paymentHash: HASH, request: invoice.request, maxFeeMsat: '20000' }),
  )
  test.each([
    ['in-flight', { state: 'in-flight' }, new Fault('an earlier payout of this order is still under way')],
    [
      'succeeded',
      { state: 'succeeded', preimage: PREIMAGE, feeMsat: 5n },
      { type: 'RecordPayout', data: { state: 'succeeded', attempt: 2, feeMsat: '5', paymentHash: other.paymentHash } },
    ],
  ] as const)(
    'an earlier invoice that another replica sends to at the last moment is seen, however long it takes: %s',
    async (_, sent, told) => {
      // Also where the node says nothing of this one, which is taken for under way.
      for (const before of [undefined, { state: 'in-flight' }] as const) {
        const { calls, context } = fake()
        let now = NOW
        // The limit of a call never comes.
        const sleep = (ms: number): Promise<void> =>
          ms === 30_000 ? new Promise(() => undefined) : Promise.resolve(void (now += ms))
        // The other looked right before this invoice was asked for, had two seconds, and was cut off from the node for long.
        const find = (hash: string) =>
          Promise.resolve(hash !== other.paymentHash ? before : now >= NOW + LOOKS_ARE_OVER_MS ? sent : undefined)
        const lightning = { ...context.ports.lightning, payments: { ...context.ports.lightning.payments, find } }
        const ports = {
          ...context.ports,
          log: openLog('silent'),
          clock: { now: () => now, monotonicMs: () => now, sleep },
          lightning,
        }
        expect(await pay(replaced, { ...context, ports }).catch((error: unknown) => error)).toEqual(told)
        expect(calls).toEqual([])
      }
    },
  )
  test('an invoice that another seller gave and nobody was ever asked to pay is nothing to wait for', async () => {
    const { calls, context } = fake()
    const theirs = payoutInvoice({ by: 2, createdAt: NOW - 1000 })
    const state = stateAfter(
      ...toSettled,
      fact('PayoutInvoiceOffered', theirs),
      fact('PayoutInvoiceTaken', { paymentHash: theirs.paymentHash }),
      fact('PayoutRequested', { attempt: 1, paymentHash: HASH, request: invoice.request, maxFeeMsat: '20000' }),
    )
    const slept: number[] = []
    // The limit of a call never comes.
    const sleep = (ms: number): Promise<void> => (slept.push(ms), new Promise(() => undefined))
    const ports = { ...context.ports, clock: { ...context.ports.clock, sleep } }
    expect(await pay(state, { ...context, ports })).toMatchObject({ data: { state: 'succeeded', attempt: 1 } })
    expect(calls).toContain('pay at most 20000')
    expect(slept).not.toContain(LOOKS_ARE_OVER_MS)
  })
  test('one that was never begun gives way to the invoice that the seller gave since', async () => {
    const newer = payoutInvoice({ paymentHash: '02'.repeat(32) })
    const state = stateAfter(
      ...toSettled,
      fact('PayoutInvoiceOffered', invoice),
      fact('PayoutInvoiceTaken', { paymentHash: invoice.paymentHash }),
      fact('PayoutRequested', { attempt: 1, paymentHash: invoice.paymentHash, request: invoice.request, maxFeeMsat: '20000' }),
      fact('PayoutInvoiceOffered', newer),
      fact('PayoutInvoiceTaken', { paymentHash: newer.paymentHash }),
    )
    const { calls, context } = fake()
    expect(await pay(state, context)).toMatchObject({ data: { state: 'failed', attempt: 1, status: 'NO_ROUTE' } })
    expect(calls).toEqual(['find payment'])
  })
  test('one that the node may have begun does not give way', async () => {
    const newer = payoutInvoice({ paymentHash: '02'.repeat(32) })
    const state = stateAfter(
      ...toSettled,
      fact('PayoutInvoiceOffered', invoice),
      fact('PayoutInvoiceTaken', { paymentHash: invoice.paymentHash }),
      fact('PayoutRequested', { attempt: 1, paymentHash: invoice.paymentHash, request: invoice.request, maxFeeMsat: '20000' }),
      fact('PayoutInvoiceOffered', newer),
      fact('PayoutInvoiceTaken', { paymentHash: newer.paymentHash }),
    )
    const { context } = fake()
    const find = (hash: string) => Promise.resolve(hash === invoice.paymentHash ? ({ state: 'in-flight' } as const) : undefined)
    const payments = { ...context.ports.lightning.payments, find }
    const ports = { ...context.ports, lightning: { ...context.ports.lightning, payments } }
    expect(await pay(state, { ...context, ports })).toMatchObject({ data: { state: 'succeeded', attempt: 1 } })
  })
  test('a hash that was asked to be paid is looked for, although another invoice of it was refused', async () => {
    const newer = payoutInvoice({ paymentHash: '02'.repeat(32) })
    const state = stateAfter(
      ...toSettled,
      fact('PayoutInvoiceOffered', invoice),
      fact('PayoutInvoiceTaken', { paymentHash: invoice.paymentHash }),
      fact('PayoutRequested', { attempt: 1, paymentHash: invoice.paymentHash, request: invoice.request, maxFeeMsat: '20000' }),
      fact('PayoutInvoiceRefused', { paymentHash: invoice.paymentHash, reason: 'This payment hash was given before.' }),
      fact('PayoutInvoiceOffered', newer),
      fact('PayoutInvoiceTaken', { paymentHash: newer.paymentHash }),
      fact('PayoutFailed', { attempt: 1, paymentHash: invoice.paymentHash, status: 'NO_ROUTE', reason: 'x', retryAt: null }),
      fact('PayoutRequested', { attempt: 2, paymentHash: newer.paymentHash, request: newer.request, maxFeeMsat: '20000' }),
    )
    expect(state.payout.invoices[invoice.paymentHash]?.fate).toBe('taken')
    const { calls, context } = fake()
    const paid = { state: 'succeeded', preimage: PREIMAGE, feeMsat: 1n } as const
    const find = (hash: string) => Promise.resolve(hash === invoice.paymentHash ? paid : undefined)
    const lightning = { ...context.ports.lightning, payments: { ...context.ports.lightning.payments, find } }
    const clock = {
      ...context.ports.clock,
      sleep: (ms: number) => (ms === 30_000 ? new Promise<void>(() => undefined) : Promise.resolve()),
    }
    const ports = { ...context.ports, log: openLog('silent'), clock, lightning }
    expect(await pay(state, { ...context, ports })).toMatchObject({
      data: { state: 'succeeded', paymentHash: invoice.paymentHash },
    })
    expect(calls).not.toContain('pay at most 20000')
  })
  test('who is told to stop while it waits for others does not pay', async () => {
    const { calls, context } = fake()
    const stop = new AbortController()
    const sleep = (): Promise<void> => Promise.resolve(stop.abort())
    const ports = { ...context.ports, clock: { ...context.ports.clock, sleep } }
    await expect(pay(replaced, { ...context, ports, signal: stop.signal })).rejects.toThrow(Fault)
    expect(calls).toEqual(['find payment'])
  })
  test('nothing is paid while another invoice of the order may be, or once it was', async () => {
    const state = replaced
    const { calls, context } = fake()
    const clock = { ...context.ports.clock, sleep: () => Promise.resolve() }
    const showing = (payment: PaymentState) => ({
      ...context.ports.lightning.payments,
      find: (hash: string) => Promise.resolve(hash === other.paymentHash ? payment : undefined),
    })
    const seeing = (payment: PaymentState): Context => ({
      ...context,
      ports: {
        ...context.ports,
        clock,
        log: openLog('silent'),
        lightning: { ...context.ports.lightning, payments: showing(payment) },
      },
    })
    await expect(pay(state, seeing({ state: 'in-flight' }))).rejects.toThrow(Fault)
    expect(await pay(state, seeing({ state: 'succeeded', preimage: PREIMAGE, feeMsat: 5n }))).toEqual({
      type: 'RecordPayout',
      data: { state: 'succeeded', attempt: 2, feeMsat: '5', paymentHash: other.paymentHash },
    })
    expect(calls).toEqual([])
    expect(await pay(state, seeing(failed))).toMatchObject({ data: { feeMsat: '7' } })
  })
  test('an invoice that has expired is not paid', async () => {
    const { calls, context } = fake()
    expect(await pay(paying(payoutInvoice({ createdAt: NOW - 900_000_000 }).request), context)).toMatchObject({
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
  ] as const)('%s is told as %s', async (reason, status) => {
    expect(await pay(paying(), fake({ paid: { state: 'failed', reason } }).context)).toMatchObject({
      type: 'RecordPayout',
      data: { state: 'failed', attempt: 2, status },
    })
  })
})
