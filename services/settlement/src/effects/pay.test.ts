import { Fault } from '@penstock/kernel/result.ts'
import type { Payments, PaymentState } from '@penstock/ports/lightning.ts'
import { openLog } from '@penstock/runtime/log.ts'
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
    const clock = { ...context.ports.clock, now: () => (now += 1500) }
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
    const clock = { ...context.ports.clock, now: () => now }
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
    const ports = { ...context.ports, clock: { ...context.ports.clock, now: () => now }, lightning }
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
        const ports = { ...context.ports, log: openLog('silent'), clock: { now: () => now, sleep }, lightning }
        expect(await pay(replaced, { ...context, ports }).catch((error: unknown) => error)).toEqual(told)
        expect(calls).toEqual([])
      }
    },
  )
  test('an invoice that another seller gave and nobody was ever asked to pay is nothing to wait for', async () => {
    const { calls, context } = fake()
    const state = stateAfter(
      ...toSettled,
      fact('PayoutInvoiceOffered', other),
      fact('PayoutInvoiceTaken', { paymentHash: other.paymentHash }),
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
