import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { CancelOutcome, Invoice, Payments, PaymentState, SettleOutcome } from '@penstock/ports/lightning.ts'
import { openLog } from '@penstock/runtime/log.ts'
import { describe, expect, test } from 'vitest'
import {
  cancelRequested,
  fact,
  HASH,
  isNoted,
  NOW,
  node,
  ORDER,
  payoutInvoice,
  requested,
  settleAsked,
  settleRequested,
  stateAfter,
  stranger,
  toHeld,
  toNoted,
  toSettled,
} from '../samples.contract.ts'
import { cancel } from './cancel.ts'
import { issue } from './issue.ts'
import { pay } from './pay.ts'
import type { Context } from './ports.ts'
import { prove } from './prove.ts'
import { reach } from './reach.ts'
import { settle } from './settle.ts'

const PREIMAGE = '11'.repeat(32)
/** A hold whose hash the fake keyring can open. */
const ours = fact('HoldRequested', { ...requested.data, paymentHash: paymentHashOf(PREIMAGE) })
const invoiceIn = (state: Invoice['state'], change: Partial<Invoice> = {}): Invoice => ({
  paymentHash: HASH,
  request: payoutInvoice().request,
  amountMsat: 5_000_000n,
  state,
  htlcs: [{ amountMsat: 5_000_000n, expiryHeight: 1000, peer: stranger, state: state === 'settled' ? 'settled' : 'held' }],
  ...change,
})

type Fakes = {
  invoice?: Invoice | undefined
  settle?: SettleOutcome
  cancel?: CancelOutcome
  payment?: PaymentState | undefined
  paid?: PaymentState
  stillAsked?: boolean
  connected?: boolean
  answering?: readonly string[]
  known?: readonly string[]
}
/** A node that answers as it is told, and what it was asked. */
function fake(answers: Fakes = {}) {
  const calls: string[] = []
  const asked = <T>(call: string, answer: T): Promise<T> => {
    calls.push(call)
    return Promise.resolve(answer)
  }
  const ports = {
    lightning: {
      info: () => Promise.resolve({ pubkey: node }),
      holds: {
        find: () => asked('find', answers.invoice),
        create: () => asked('create', invoiceIn('open')),
        settle: () => asked('settle', answers.settle ?? 'settled'),
        cancel: () => asked('cancel', answers.cancel ?? 'cancelled'),
      },
      payments: {
        find: () => asked('find payment', answers.payment),
        pay: (_: string, { maxFeeMsat }: { maxFeeMsat: bigint }) =>
          asked(`pay at most ${maxFeeMsat}`, answers.paid ?? { state: 'succeeded', preimage: PREIMAGE, feeMsat: 7n }),
      },
      peers: {
        isConnected: () => asked('is connected', answers.connected ?? false),
        connect: (_: string, socket: string) => asked(`connect ${socket}`, answers.answering?.includes(socket) ?? false),
        addresses: () => asked('addresses', { alias: 'b', sockets: answers.known ?? [] }),
      },
      graph: {
        channel: () => asked('channel', undefined),
        between: () => asked('between', []),
        probe: () => asked('probe', { reached: true }),
      },
    },
    chain: { tip: () => Promise.resolve({ height: 900 }), output: () => asked('output', undefined) },
    keyring: { preimageOf: () => PREIMAGE },
    clock: { now: () => NOW, sleep: () => new Promise(() => undefined) },
  }
  // Only what effects call is there; another call would fail the test.
  const stillAsked = () => Promise.resolve(answers.stillAsked ?? true)
  const { signal } = new AbortController()
  return { calls, context: { id: ORDER, ports: ports as unknown as Context['ports'], signal, stillAsked } }
}

describe('issue', () => {
  test('reaches the buyer, then makes the invoice', async () => {
    const { calls, context } = fake({ answering: ['buyer.sim:9735'] })
    expect(await issue(stateAfter(requested), context)).toMatchObject({
      type: 'RecordIssued',
      data: { expiresAt: payoutInvoice().expiresAt },
    })
    expect(calls).toEqual(['find', 'is connected', 'connect buyer.sim:9735', 'create'])
  })
  test('finds the invoice that an earlier run made', async () => {
    const { calls, context } = fake({ invoice: invoiceIn('open') })
    expect(await issue(stateAfter(requested), context)).toMatchObject({ type: 'RecordIssued' })
    expect(calls).toEqual(['find'])
  })
  test('makes none for a buyer that nobody reaches', async () => {
    const { calls, context } = fake()
    expect(await issue(stateAfter(requested), context)).toMatchObject({
      type: 'RecordReach',
      data: { attempt: 0, reached: false, height: 900 },
    })
    expect(calls).not.toContain('create')
  })
})

describe('reach', () => {
  const wanting = (sockets: string[]) =>
    stateAfter(
      fact('HoldRequested', { ...requested.data, destination: { pubkey: node, sockets } }),
      ...toHeld.slice(1),
      fact('ReachAsked', { attempt: 2 }),
    )
  test('a node that is connected counts', async () => {
    const { calls, context } = fake({ connected: true })
    expect(await reach(wanting(['a:1']), context)).toMatchObject({ data: { attempt: 2, reached: true } })
    expect(calls).toEqual(['is connected'])
  })
  test('every address is tried, gossip only where the buyer gave none', async () => {
    const given = fake({ answering: ['b:2'], known: ['c:3'] })
    expect(await reach(wanting(['a:1', 'b:2']), given.context)).toMatchObject({ data: { reached: true } })
    expect(given.calls).toEqual(['is connected', 'connect a:1', 'connect b:2'])
    const none = fake({ answering: ['c:3'], known: ['c:3'] })
    expect(await reach(wanting([]), none.context)).toMatchObject({ data: { reached: true } })
    const silent = await reach(wanting(['a:1']), fake().context)
    expect(silent).toMatchObject({ data: { reached: false, reason: 'The node does not answer at a:1.' } })
    // An LSPS1 wallet is connected to its sellers, not to us.
    expect(await reach(wanting([]), fake().context)).toMatchObject({ data: { reached: true } })
  })
})

describe('settle', () => {
  const state = stateAfter(ours, ...toNoted.slice(1), settleAsked, settleRequested)
  const answers: readonly SettleOutcome[] = ['settled', 'already-settled', 'not-held', 'cancelled', 'unknown']
  test.each(answers)('what counts is what the node shows after it answered "%s"', async (outcome) => {
    expect(await settle(state, fake({ settle: outcome, invoice: invoiceIn('settled') }).context)).toEqual({
      type: 'RecordSettled',
      data: { settledAt: NOW, receivedMsat: '5000000' },
    })
    expect(await settle(state, fake({ settle: outcome, invoice: invoiceIn('cancelled') }).context)).toEqual({
      type: 'RecordNodeCancelled',
      data: { at: NOW, height: 900 },
    })
    for (const invoice of [invoiceIn('held'), invoiceIn('open'), undefined])
      await expect(settle(state, fake({ settle: outcome, invoice }).context)).rejects.toThrow(Fault)
  })
  test('only settled HTLCs are money', async () => {
    const htlcs = [
      { amountMsat: 3n, expiryHeight: 1, peer: node, state: 'settled' },
      { amountMsat: 4n, expiryHeight: 1, peer: node, state: 'held' },
    ] as const
    expect(await settle(state, fake({ invoice: invoiceIn('settled', { htlcs }) }).context)).toMatchObject({
      data: { receivedMsat: '3' },
    })
  })
  test('a preimage that does not open this hold never leaves', async () => {
    const { calls, context } = fake({ invoice: invoiceIn('held') })
    await expect(settle(stateAfter(...toNoted, settleAsked, settleRequested), context)).rejects.toThrow('does not open this hold')
    expect(calls).toEqual([])
  })
})

describe('cancel', () => {
  const state = stateAfter(...toHeld, cancelRequested)
  const answers: readonly CancelOutcome[] = ['cancelled', 'already-cancelled', 'unknown']
  test.each(answers)('what counts is what the node shows after it answered "%s"', async (outcome) => {
    for (const invoice of [invoiceIn('cancelled'), undefined])
      expect(await cancel(state, fake({ cancel: outcome, invoice }).context)).toEqual({
        type: 'RecordCancelled',
        data: { at: NOW },
      })
    for (const shown of ['held', 'open'] as const)
      await expect(cancel(state, fake({ cancel: outcome, invoice: invoiceIn(shown) }).context)).rejects.toThrow(Fault)
  })
  test('a hold that is settled behind our back shows', async () => {
    await expect(cancel(state, fake({ cancel: 'settled', invoice: invoiceIn('settled') }).context)).rejects.toThrow(
      'somebody else has its preimage',
    )
  })
})

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
      { type: 'RecordPayout', data: { state: 'succeeded', attempt: 2, feeMsat: '5' } },
    ],
  ] as const)('an earlier invoice that another replica sends to at the last moment is seen: %s', async (_, sent, told) => {
    const { calls, context } = fake()
    let now = NOW
    // The limit of a call is longer, and never comes.
    const sleep = (ms: number): Promise<void> => (ms < 10_000 ? Promise.resolve(void (now += ms)) : new Promise(() => undefined))
    // The other looked right before this invoice was asked for, and has two seconds.
    const find = (hash: string) => Promise.resolve(hash === other.paymentHash && now > NOW + 2000 ? sent : undefined)
    const lightning = { ...context.ports.lightning, payments: { ...context.ports.lightning.payments, find } }
    const ports = { ...context.ports, log: openLog('silent'), clock: { now: () => now, sleep }, lightning }
    expect(await pay(replaced, { ...context, ports }).catch((error: unknown) => error)).toEqual(told)
    expect(calls).toEqual([])
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
      data: { state: 'succeeded', attempt: 2, feeMsat: '5' },
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

test('prove asks the guard’s question with evidence of its own', async () => {
  const { context } = fake()
  const told = await prove(stateAfter(...toHeld, isNoted, settleAsked), context)
  expect(told).toMatchObject({
    type: 'Guard',
    data: { height: 900, outpoint: isNoted.data.outpoint, evidence: { output: null, tipHeight: 900, probe: 'not-tried' } },
  })
  expect(await prove(stateAfter(...toHeld), context)).toEqual({
    type: 'Guard',
    data: { height: 900, outpoint: null, evidence: null, lookedAt: NOW },
  })
})

test('a proof is as old as the look at its beginning', async () => {
  const { context } = fake()
  let now = NOW
  const clock = { ...context.ports.clock, now: () => now }
  const output = () => {
    now += 5000
    return Promise.resolve(undefined)
  }
  const ports = { ...context.ports, clock, chain: { ...context.ports.chain, output } }
  const told = await prove(stateAfter(...toHeld, isNoted, settleAsked), { ...context, ports })
  expect(told).toMatchObject({ type: 'Guard', data: { lookedAt: NOW } })
  expect(now).toBe(NOW + 5000)
})

test('nothing of a preimage is told to the stream', async () => {
  const told = await settle(
    stateAfter(ours, ...toNoted.slice(1), settleAsked, settleRequested),
    fake({ invoice: invoiceIn('settled') }).context,
  )
  expect(JSON.stringify(told)).not.toContain(PREIMAGE)
})
