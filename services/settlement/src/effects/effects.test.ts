import { Fault } from '@penstock/kernel/result.ts'
import type { CancelOutcome, SettleOutcome } from '@penstock/ports/lightning.ts'
import { createJumpingWallClock } from '@penstock/ports/jumping-wall-clock.fixture.ts'
import { describe, expect, test } from 'vitest'
import {
  cancelRequestedFact,
  E,
  settlementFact,
  outpointRegisteredFact,
  NOW,
  node,
  makePayoutInvoice,
  holdRequestedFact,
  settlementWantedFact,
  settlementMissedFact,
  settlementStartedFact,
  stateAfter,
  heldHistory,
  registeredHistory,
} from '../samples.fixture.ts'
import { cancelHoldInvoice } from './cancel-hold-invoice.ts'
import { fakeNode, invoiceIn, ourHoldRequested, PREIMAGE } from './fake-node.fixture.ts'
import { issueHoldInvoice } from './issue-hold-invoice.ts'
import { proveChannel } from './prove-channel.ts'
import { connectToBuyer, PURCHASE_REACH_TIMEOUT_MS, reachBuyer, tryConnectingToBuyer } from './connect-to-buyer.ts'
import { settleHoldInvoice } from './settle-hold-invoice.ts'

describe('issue', () => {
  test('reaches the buyer, then creates the invoice', async () => {
    const { calls, context } = fakeNode({ answering: ['buyer.sim:9735'] })
    expect(await issueHoldInvoice(stateAfter(holdRequestedFact), context)).toMatchObject({
      type: 'RecordIssued',
      data: { expiresAt: makePayoutInvoice().expiresAt },
    })
    expect(calls).toEqual(['find', 'is connected', 'connect buyer.sim:9735', 'create'])
  })
  test('finds the invoice that an earlier run created', async () => {
    const { calls, context } = fakeNode({ invoice: invoiceIn('open') })
    expect(await issueHoldInvoice(stateAfter(holdRequestedFact), context)).toMatchObject({ type: 'RecordIssued' })
    expect(calls).toEqual(['find'])
  })
  test('creates no invoice for a buyer that cannot be reached', async () => {
    const { calls, context } = fakeNode()
    expect(await issueHoldInvoice(stateAfter(holdRequestedFact), context)).toMatchObject({
      type: 'RecordReach',
      data: { attempt: 0, reached: false, height: 900 },
    })
    expect(calls).not.toContain('create')
  })
})

describe('reach', () => {
  const wanting = (sockets: string[]) =>
    stateAfter(
      settlementFact('HoldRequested', { ...holdRequestedFact.data, destination: { pubkey: node, sockets } }),
      ...heldHistory.slice(1),
      settlementFact('BuyerReachRequested', { attempt: 2 }),
    )
  test('counts a connected node as reached', async () => {
    const { calls, context } = fakeNode({ connected: true })
    expect(await reachBuyer(wanting(['a:1']), context)).toMatchObject({ data: { attempt: 2, reached: true } })
    expect(calls).toEqual(['is connected'])
  })
  test.each([
    [905, 900, 905],
    [900, 903, 903],
  ])('reports the higher of both heights: node %d, chain %d', async (height, tip, higher) => {
    const { context } = fakeNode({ connected: true, node: { height }, tip: { height: tip } })
    expect(await reachBuyer(wanting([]), context)).toMatchObject({ data: { height: higher } })
  })
  test('tries every address of the buyer, and addresses from gossip only if the buyer gave none', async () => {
    const given = fakeNode({ answering: ['b:2'], known: ['c:3'] })
    expect(await reachBuyer(wanting(['a:1', 'b:2']), given.context)).toMatchObject({ data: { reached: true } })
    expect(given.calls).toEqual(['is connected', 'connect a:1', 'connect b:2'])
    const none = fakeNode({ answering: ['c:3'], known: ['c:3'] })
    expect(await reachBuyer(wanting([]), none.context)).toMatchObject({ data: { reached: true } })
    const silent = await reachBuyer(wanting(['a:1']), fakeNode().context)
    expect(silent).toMatchObject({ data: { reached: false, reason: 'The node does not answer at a:1.' } })
  })
  test('waits for no silent address once another answers, and in a purchase for all of them only for a time', async () => {
    const { ports } = fakeNode({ answering: ['b:2'] }).context
    const { peers } = ports.lightning
    const connect: typeof peers.connect = (pubkey, socket) =>
      socket.startsWith('silent') ? new Promise(() => undefined) : peers.connect(pubkey, socket)
    const waitsMs: number[] = []
    const clock = { ...ports.clock, sleep: async (ms: number) => void waitsMs.push(ms) }
    const reach = (sockets: readonly string[], timeoutMs?: number) =>
      connectToBuyer(
        { ...ports, clock, lightning: { ...ports.lightning, peers: { ...peers, connect } } },
        { pubkey: node, sockets },
        timeoutMs,
      )
    expect(await reach(['silent:1', 'b:2'])).toMatchObject({ reached: true, reason: 'The node answers at b:2.' })
    expect(await reach(['silent:1', 'silent:2'], PURCHASE_REACH_TIMEOUT_MS)).toMatchObject({
      reached: false,
      reason: 'The node does not answer at silent:1, silent:2.',
    })
    expect(waitsMs.filter((ms) => ms < 10_000)).toEqual([PURCHASE_REACH_TIMEOUT_MS, PURCHASE_REACH_TIMEOUT_MS])
  })
  test('does not connect to an address that is not public, and reports this reason', async () => {
    const both = fakeNode({ forbidden: ['a:1'], answering: ['b:2'] })
    expect(await reachBuyer(wanting(['a:1', 'b:2']), both.context)).toMatchObject({ data: { reached: true } })
    const alone = fakeNode({ forbidden: ['a:1'] })
    expect(await reachBuyer(wanting(['a:1']), alone.context)).toMatchObject({
      data: { reached: false, reason: 'Our node connects to public addresses only: a:1 is not public.' },
    })
    expect(await reachBuyer(wanting(['a:1', 'b:2']), fakeNode({ forbidden: ['a:1'] }).context)).toMatchObject({
      data: {
        reason: 'The node does not answer at b:2. Our node connects to public addresses only: a:1 is not public.',
      },
    })
    // The same holds for an address from gossip.
    expect(await reachBuyer(wanting([]), fakeNode({ known: ['a:1'], forbidden: ['a:1'] }).context)).toMatchObject({
      data: { reached: false },
    })
    // The same holds for the attempt before the guard’s decision.
    const { ports } = fakeNode({ forbidden: ['a:1'] }).context
    expect(await tryConnectingToBuyer(ports, { pubkey: node, sockets: ['a:1'] })).toEqual({
      reached: false,
      reason: 'Our node connects to public addresses only: a:1 is not public.',
    })
  })
  test('counts a buyer without a known address as reached, because its sellers may know an address', async () => {
    // An LSPS1 wallet is connected to its sellers, not to us.
    expect(await reachBuyer(wanting([]), fakeNode().context)).toMatchObject({ data: { reached: true } })
  })
})

describe('settle', () => {
  const state = stateAfter(ourHoldRequested, ...registeredHistory.slice(1), settlementWantedFact, settlementStartedFact)
  const answers: readonly SettleOutcome[] = ['settled', 'already-settled', 'not-held', 'cancelled', 'unknown']
  test.each(answers)('reports the state of the invoice at the node after the answer "%s"', async (outcome) => {
    expect(await settleHoldInvoice(state, fakeNode({ settle: outcome, invoice: invoiceIn('settled') }).context)).toEqual({
      type: 'RecordSettled',
      data: { settledAt: NOW, receivedMsat: '5000000' },
    })
    expect(await settleHoldInvoice(state, fakeNode({ settle: outcome, invoice: invoiceIn('cancelled') }).context)).toEqual({
      type: 'RecordNodeCancelled',
      data: { at: NOW, height: 900 },
    })
    for (const invoice of [invoiceIn('held'), invoiceIn('open'), undefined])
      await expect(settleHoldInvoice(state, fakeNode({ settle: outcome, invoice }).context)).rejects.toThrow(Fault)
  })
  test('counts only settled HTLCs as received', async () => {
    const htlcs = [
      { amountMsat: 3n, expiryHeight: 1, peer: node, state: 'settled', acceptedAt: null },
      { amountMsat: 4n, expiryHeight: 1, peer: node, state: 'held', acceptedAt: null },
    ] as const
    expect(await settleHoldInvoice(state, fakeNode({ invoice: invoiceIn('settled', { htlcs }) }).context)).toMatchObject({
      data: { receivedMsat: '3' },
    })
  })
  const late = 1000 - 12
  test.each([
    ['node', { node: { height: late } }],
    ['chain', { tip: { height: late } }],
  ])(
    'makes no settle call if the height of the %s is E − 12 or more, and reports the state that the node shows',
    async (_, command) => {
      const { calls, context } = fakeNode({ ...command, invoice: invoiceIn('held') })
      expect(await settleHoldInvoice(state, context)).toEqual({ type: 'RecordSettlementMissed', data: { height: late } })
      expect(calls).toEqual(['find'])
      const before = fakeNode({ ...command, invoice: invoiceIn('settled') })
      expect(await settleHoldInvoice(state, before.context)).toMatchObject({
        type: 'RecordSettled',
        data: { receivedMsat: '5000000' },
      })
      const back = fakeNode({ ...command, invoice: invoiceIn('cancelled') })
      expect(await settleHoldInvoice(state, back.context)).toEqual({
        type: 'RecordNodeCancelled',
        data: { at: NOW, height: late },
      })
      expect([...before.calls, ...back.calls]).toEqual(['find', 'find'])
      await expect(settleHoldInvoice(state, fakeNode(command).context)).rejects.toThrow(Fault)
    },
  )
  test('settles one block before E − 12', async () => {
    const { calls, context } = fakeNode({ node: { height: late - 1 }, invoice: invoiceIn('settled') })
    expect(await settleHoldInvoice(state, context)).toMatchObject({ type: 'RecordSettled' })
    expect(calls).toEqual(['settle', 'find'])
  })
  test('waits while neither the node nor the chain source is in sync, because the height is unknown', async () => {
    const behind = { synced: false }
    const { calls, context } = fakeNode({ node: behind, tip: behind, invoice: invoiceIn('held') })
    await expect(settleHoldInvoice(state, context)).rejects.toThrow('caught up')
    expect(calls).toEqual([])
    for (const command of [{ node: behind }, { tip: behind }])
      expect(await settleHoldInvoice(state, fakeNode({ ...command, invoice: invoiceIn('settled') }).context)).toMatchObject({
        type: 'RecordSettled',
      })
    const regtest = { ...context, ports: { ...context.ports, network: 'regtest' as const } }
    await expect(settleHoldInvoice(state, regtest)).rejects.toThrow('shows the invoice held')
    expect(calls).toEqual(['settle', 'find'])
  })
  test('does not settle if the process was paused after it read the height', async () => {
    const { calls, context } = fakeNode({ invoice: invoiceIn('held') })
    let now = NOW
    const tip = () => {
      now += 30_001
      return context.ports.chain.tip()
    }
    const ports = {
      ...context.ports,
      clock: { ...context.ports.clock, now: createJumpingWallClock(() => now), monotonicMs: () => now },
      chain: { ...context.ports.chain, tip },
    }
    await expect(settleHoldInvoice(state, { ...context, ports })).rejects.toThrow(Fault)
    expect(calls).toEqual([])
  })
  test('sends no preimage that does not belong to this hold', async () => {
    const { calls, context } = fakeNode({ invoice: invoiceIn('held') })
    await expect(
      settleHoldInvoice(stateAfter(...registeredHistory, settlementWantedFact, settlementStartedFact), context),
    ).rejects.toThrow('does not open this hold')
    expect(calls).toEqual([])
  })
})

describe('cancel', () => {
  const state = stateAfter(...heldHistory, cancelRequestedFact)
  const answers: readonly CancelOutcome[] = ['cancelled', 'already-cancelled', 'unknown']
  test.each(answers)('reports the state of the invoice at the node after the answer "%s"', async (outcome) => {
    for (const invoice of [invoiceIn('cancelled'), undefined])
      expect(await cancelHoldInvoice(state, fakeNode({ cancel: outcome, invoice }).context)).toEqual({
        type: 'RecordCancelled',
        data: { at: NOW, unmade: false },
      })
    for (const shown of ['held', 'open'] as const)
      await expect(cancelHoldInvoice(state, fakeNode({ cancel: outcome, invoice: invoiceIn(shown) }).context)).rejects.toThrow(
        Fault,
      )
  })
  test('reports that no invoice was found or recorded, because the node may create the invoice meanwhile', async () => {
    const unknown = stateAfter(holdRequestedFact, cancelRequestedFact)
    for (const [invoice, unmade] of [
      [undefined, true],
      [invoiceIn('cancelled'), false],
    ] as const)
      expect(await cancelHoldInvoice(unknown, fakeNode({ cancel: 'unknown', invoice }).context)).toMatchObject({
        data: { unmade },
      })
  })
  test('cancels a missed settlement, unless the node has settled the payment before', async () => {
    const missed = stateAfter(...registeredHistory, settlementWantedFact, settlementStartedFact, settlementMissedFact)
    const given = fakeNode({ invoice: invoiceIn('cancelled') })
    expect(await cancelHoldInvoice(missed, given.context)).toEqual({ type: 'RecordCancelled', data: { at: NOW, unmade: false } })
    expect(given.calls).toEqual(['cancel', 'find'])
    expect(await cancelHoldInvoice(missed, fakeNode({ cancel: 'settled', invoice: invoiceIn('settled') }).context)).toEqual({
      type: 'RecordSettled',
      data: { settledAt: NOW, receivedMsat: '5000000' },
    })
  })
  test('fails if somebody else has settled the hold', async () => {
    await expect(
      cancelHoldInvoice(state, fakeNode({ cancel: 'settled', invoice: invoiceIn('settled') }).context),
    ).rejects.toThrow('its preimage has leaked')
  })
})

test('prove uses the higher of both heights, and fails at the last height if the chain source is behind', async () => {
  const state = stateAfter(...heldHistory, outpointRegisteredFact, settlementWantedFact)
  const at = (height: number, tip: number) => proveChannel(state, fakeNode({ node: { height }, tip: { height: tip } }).context)
  expect(await at(910, 900)).toMatchObject({ data: { height: 910, evidence: { tipHeight: 900 } } })
  expect(await at(900, 903)).toMatchObject({ data: { height: 903 } })
  expect(await at(E - 24, E - 24)).toMatchObject({ data: { height: E - 24 } })
  await expect(at(E - 24, E - 25)).rejects.toThrow(/the chain source is at height 975, but the chain is at 976/)
})

test('prove sends the guard’s command with newly gathered evidence', async () => {
  const { context } = fakeNode()
  const command = await proveChannel(stateAfter(...heldHistory, outpointRegisteredFact, settlementWantedFact), context)
  expect(command).toMatchObject({
    type: 'Guard',
    data: {
      height: 900,
      outpoint: outpointRegisteredFact.data.outpoint,
      evidence: { output: null, tipHeight: 900, probe: 'not-tried' },
    },
  })
  expect(await proveChannel(stateAfter(...heldHistory), context)).toEqual({
    type: 'Guard',
    data: { height: 900, outpoint: null, evidence: null, observedAt: NOW, nodeReady: true },
  })
  for (const lack of [{ synced: false }, { graphSynced: false }])
    expect(await proveChannel(stateAfter(...heldHistory), fakeNode({ node: lack }).context)).toMatchObject({
      data: { nodeReady: false },
    })
})

test('the age of a proof counts from the start of its observation', async () => {
  const { context } = fakeNode()
  let now = NOW
  const clock = { ...context.ports.clock, now: createJumpingWallClock(() => now), monotonicMs: () => now }
  const output = () => {
    now += 5000
    return Promise.resolve(undefined)
  }
  const ports = { ...context.ports, clock, chain: { ...context.ports.chain, output } }
  const command = await proveChannel(stateAfter(...heldHistory, outpointRegisteredFact, settlementWantedFact), {
    ...context,
    ports,
  })
  expect(command).toMatchObject({ type: 'Guard', data: { observedAt: NOW } })
  expect(now).toBe(NOW + 5000)
})

test('the command after a settlement contains no preimage', async () => {
  const command = await settleHoldInvoice(
    stateAfter(ourHoldRequested, ...registeredHistory.slice(1), settlementWantedFact, settlementStartedFact),
    fakeNode({ invoice: invoiceIn('settled') }).context,
  )
  expect(JSON.stringify(command)).not.toContain(PREIMAGE)
})
