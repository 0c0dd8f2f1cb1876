import { Fault } from '@penstock/kernel/result.ts'
import type { CancelOutcome, SettleOutcome } from '@penstock/ports/lightning.ts'
import { jumpingWall } from '@penstock/ports/jumping-wall.contract.ts'
import { describe, expect, test } from 'vitest'
import {
  cancelRequested,
  E,
  fact,
  isNoted,
  NOW,
  node,
  payoutInvoice,
  requested,
  settleAsked,
  settleMissed,
  settleRequested,
  stateAfter,
  toHeld,
  toNoted,
} from '../samples.contract.ts'
import { cancel } from './cancel.ts'
import { fake, invoiceIn, ours, PREIMAGE } from './fake-node.contract.ts'
import { issue } from './issue.ts'
import { prove } from './prove.ts'
import { reach, tryBuyer } from './reach.ts'
import { settle } from './settle.ts'

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
  test.each([
    [905, 900, 905],
    [900, 903, 903],
  ])('the height is the higher of both: node %d, chain %d', async (height, tip, higher) => {
    const { context } = fake({ connected: true, node: { height }, tip: { height: tip } })
    expect(await reach(wanting([]), context)).toMatchObject({ data: { height: higher } })
  })
  test('every address is tried, gossip only where the buyer gave none', async () => {
    const given = fake({ answering: ['b:2'], known: ['c:3'] })
    expect(await reach(wanting(['a:1', 'b:2']), given.context)).toMatchObject({ data: { reached: true } })
    expect(given.calls).toEqual(['is connected', 'connect a:1', 'connect b:2'])
    const none = fake({ answering: ['c:3'], known: ['c:3'] })
    expect(await reach(wanting([]), none.context)).toMatchObject({ data: { reached: true } })
    const silent = await reach(wanting(['a:1']), fake().context)
    expect(silent).toMatchObject({ data: { reached: false, reason: 'The node does not answer at a:1.' } })
  })
  test('an address that is not public is not connected to, and the sentence says so', async () => {
    const both = fake({ forbidden: ['a:1'], answering: ['b:2'] })
    expect(await reach(wanting(['a:1', 'b:2']), both.context)).toMatchObject({ data: { reached: true } })
    const alone = fake({ forbidden: ['a:1'] })
    expect(await reach(wanting(['a:1']), alone.context)).toMatchObject({
      data: { reached: false, reason: 'Our node connects to public addresses only: a:1 is not public.' },
    })
    expect(await reach(wanting(['a:1', 'b:2']), fake({ forbidden: ['a:1'] }).context)).toMatchObject({
      data: {
        reason: 'The node does not answer at b:2. Our node connects to public addresses only: a:1 is not public.',
      },
    })
    // Also where gossip alone knows it.
    expect(await reach(wanting([]), fake({ known: ['a:1'], forbidden: ['a:1'] }).context)).toMatchObject({
      data: { reached: false },
    })
    // Before the decision over the money, too.
    const { ports } = fake({ forbidden: ['a:1'] }).context
    expect(await tryBuyer(ports, { pubkey: node, sockets: ['a:1'] })).toEqual({
      reached: false,
      reason: 'Our node connects to public addresses only: a:1 is not public.',
    })
  })
  test('where no address is known, the sellers may know one', async () => {
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
      { amountMsat: 3n, expiryHeight: 1, peer: node, state: 'settled', acceptedAt: null },
      { amountMsat: 4n, expiryHeight: 1, peer: node, state: 'held', acceptedAt: null },
    ] as const
    expect(await settle(state, fake({ invoice: invoiceIn('settled', { htlcs }) }).context)).toMatchObject({
      data: { receivedMsat: '3' },
    })
  })
  const late = 1000 - 12
  test.each([
    ['node', { node: { height: late } }],
    ['chain', { tip: { height: late } }],
  ])('where the %s says that it is too late nothing is asked of the node, and what it shows counts', async (_, told) => {
    const { calls, context } = fake({ ...told, invoice: invoiceIn('held') })
    expect(await settle(state, context)).toEqual({ type: 'RecordSettleMissed', data: { height: late } })
    expect(calls).toEqual(['find'])
    const before = fake({ ...told, invoice: invoiceIn('settled') })
    expect(await settle(state, before.context)).toMatchObject({ type: 'RecordSettled', data: { receivedMsat: '5000000' } })
    const back = fake({ ...told, invoice: invoiceIn('cancelled') })
    expect(await settle(state, back.context)).toEqual({ type: 'RecordNodeCancelled', data: { at: NOW, height: late } })
    expect([...before.calls, ...back.calls]).toEqual(['find', 'find'])
    await expect(settle(state, fake(told).context)).rejects.toThrow(Fault)
  })
  test('a block before that it is settled', async () => {
    const { calls, context } = fake({ node: { height: late - 1 }, invoice: invoiceIn('settled') })
    expect(await settle(state, context)).toMatchObject({ type: 'RecordSettled' })
    expect(calls).toEqual(['settle', 'find'])
  })
  test('while neither the node nor the chain has caught up nobody knows the height, so it waits', async () => {
    const behind = { synced: false }
    const { calls, context } = fake({ node: behind, tip: behind, invoice: invoiceIn('held') })
    await expect(settle(state, context)).rejects.toThrow('caught up')
    expect(calls).toEqual([])
    for (const told of [{ node: behind }, { tip: behind }])
      expect(await settle(state, fake({ ...told, invoice: invoiceIn('settled') }).context)).toMatchObject({
        type: 'RecordSettled',
      })
    const regtest = { ...context, ports: { ...context.ports, network: 'regtest' as const } }
    await expect(settle(state, regtest)).rejects.toThrow('shows the invoice held')
    expect(calls).toEqual(['settle', 'find'])
  })
  test('whoever stood still after it had looked at the height does not settle', async () => {
    const { calls, context } = fake({ invoice: invoiceIn('held') })
    let now = NOW
    const tip = () => {
      now += 30_001
      return context.ports.chain.tip()
    }
    const ports = {
      ...context.ports,
      clock: { ...context.ports.clock, now: jumpingWall(() => now), monotonicMs: () => now },
      chain: { ...context.ports.chain, tip },
    }
    await expect(settle(state, { ...context, ports })).rejects.toThrow(Fault)
    expect(calls).toEqual([])
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
        data: { at: NOW, unmade: false },
      })
    for (const shown of ['held', 'open'] as const)
      await expect(cancel(state, fake({ cancel: outcome, invoice: invoiceIn(shown) }).context)).rejects.toThrow(Fault)
  })
  test('says where it found nothing and knew of nothing: an invoice may be made meanwhile', async () => {
    const unknown = stateAfter(requested, cancelRequested)
    for (const [invoice, unmade] of [
      [undefined, true],
      [invoiceIn('cancelled'), false],
    ] as const)
      expect(await cancel(unknown, fake({ cancel: 'unknown', invoice }).context)).toMatchObject({ data: { unmade } })
  })
  test('what was to be settled and was missed goes back, unless the node has taken it before', async () => {
    const missed = stateAfter(...toNoted, settleAsked, settleRequested, settleMissed)
    const given = fake({ invoice: invoiceIn('cancelled') })
    expect(await cancel(missed, given.context)).toEqual({ type: 'RecordCancelled', data: { at: NOW, unmade: false } })
    expect(given.calls).toEqual(['cancel', 'find'])
    expect(await cancel(missed, fake({ cancel: 'settled', invoice: invoiceIn('settled') }).context)).toEqual({
      type: 'RecordSettled',
      data: { settledAt: NOW, receivedMsat: '5000000' },
    })
  })
  test('a hold that is settled behind our back shows', async () => {
    await expect(cancel(state, fake({ cancel: 'settled', invoice: invoiceIn('settled') }).context)).rejects.toThrow(
      'somebody else has its preimage',
    )
  })
})

test('prove counts the blocks that are left by the higher of both heights, and leaves a late look to the guard', async () => {
  const state = stateAfter(...toHeld, isNoted, settleAsked)
  const at = (height: number, tip: number) => prove(state, fake({ node: { height }, tip: { height: tip } }).context)
  expect(await at(910, 900)).toMatchObject({ data: { height: 910, evidence: { tipHeight: 900 } } })
  expect(await at(900, 903)).toMatchObject({ data: { height: 903 } })
  expect(await at(E - 24, E - 24)).toMatchObject({ data: { height: E - 24 } })
  await expect(at(E - 24, E - 25)).rejects.toThrow(/the chain is shown as of 975, and its height is 976/)
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
    data: { height: 900, outpoint: null, evidence: null, lookedAt: NOW, nodeReady: true },
  })
  for (const lack of [{ synced: false }, { graphSynced: false }])
    expect(await prove(stateAfter(...toHeld), fake({ node: lack }).context)).toMatchObject({ data: { nodeReady: false } })
})

test('a proof is as old as the look at its beginning', async () => {
  const { context } = fake()
  let now = NOW
  const clock = { ...context.ports.clock, now: jumpingWall(() => now), monotonicMs: () => now }
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
