import type { Invoice } from '@penstock/ports/lightning.ts'
import { describe, expect, test } from 'vitest'
import {
  E,
  sampleEvidence,
  ORDER_ID,
  OUTPOINT,
  seller,
  settlementWantedFact,
  stateAfter,
  stranger,
  heldHistory,
  registeredHistory,
  openHistory,
  settledHistory,
} from '../../samples.fixture.ts'
import { newGuardState } from './guard-state.ts'
import { guardByClockJob, guardJob } from './guard.ts'
import { tipAt, failWithFault, heldInvoice, runGuardRound, neverAnswer } from './guard-round.fixture.ts'

const unnamed = { type: 'Guard', data: { height: E - 24, outpoint: null, evidence: null, observedAt: 0, nodeReady: true } }

test('the node’s height counts if the chain source does not answer, or is behind', async () => {
  const state = stateAfter(...heldHistory)
  expect(await runGuardRound(guardByClockJob, { state, nodeHeight: E - 24 })).toEqual([unnamed])
  expect(await runGuardRound(guardByClockJob, { state, tip: tipAt(E - 30), nodeHeight: E - 24 })).toEqual([unnamed])
  expect(await runGuardRound(guardByClockJob, { state, tip: tipAt(E - 24), nodeHeight: E - 30 })).toEqual([unnamed])
  expect(await runGuardRound(guardByClockJob, { state, tip: tipAt(E - 25), nodeHeight: E - 25 })).toEqual([])
  await expect(runGuardRound(guardByClockJob, { state, nodeHeight: null })).rejects.toThrow('neither the chain nor the node')
})

test('a hold that cannot be read does not end the round for the later holds', async () => {
  const [broken, errors] = ['an order that cannot be read', [] as unknown[]]
  const unfinished = () => Promise.resolve([broken, ORDER_ID])
  const commands = await runGuardRound(guardJob, {
    state: stateAfter(...heldHistory),
    tip: tipAt(E - 24),
    unfinished,
    broken,
    errors,
  }).catch(String)
  expect(commands).toEqual([unnamed])
  expect(errors).toContainEqual(expect.objectContaining({ order: broken, height: E - 24 }))
})

describe('a guard round', () => {
  const seen = { height: E - 30, unread: 0, at: 1 }
  /** A guard state after one round over one held payment. */
  const afterOneRound = async () => {
    const keeping = newGuardState()
    const state = stateAfter(...heldHistory)
    await runGuardRound(guardJob, { state, tip: tipAt(E - 30), now: 1, keeping })
    expect(keeping.snapshot.last).toEqual({ ...seen, orders: new Map([[ORDER_ID, state]]) })
    return { keeping, state, orders: new Map([[ORDER_ID, state]]), now: 2 }
  }
  const broken = ORDER_ID

  test('keeps the last known state of an unreadable stream, and does not count as complete', async () => {
    const { keeping, orders, ...scenario } = await afterOneRound()
    await runGuardRound(guardJob, { ...scenario, tip: tipAt(E - 29), broken, keeping })
    expect(keeping.snapshot.last).toEqual({ ...seen, orders, height: E - 29, unread: 1 })
    await runGuardRound(guardJob, { ...scenario, tip: tipAt(E - 28), keeping })
    expect(keeping.snapshot.last).toEqual({ ...seen, orders, height: E - 28, at: 2 })
  })

  test.each([
    ['held invoices cannot be listed', { held: failWithFault }],
    ['unfinished orders cannot be listed', { unfinished: failWithFault }],
  ])('does not count as complete if %s', async (_, change) => {
    const { keeping, orders, ...scenario } = await afterOneRound()
    await runGuardRound(guardJob, { ...scenario, tip: tipAt(E - 29), ...change, keeping })
    expect(keeping.snapshot.last).toEqual({ ...seen, orders, height: E - 29 })
  })

  test('does not count as complete if channel evidence or an invoice cannot be read', async () => {
    const keeping = newGuardState()
    const state = stateAfter(...registeredHistory, settlementWantedFact)
    await runGuardRound(guardJob, { state, tip: tipAt(E - 30), output: failWithFault, keeping })
    expect(keeping.snapshot.last?.at).toBeNull()
    await runGuardRound(guardJob, {
      state,
      tip: tipAt(E - 30),
      output: () => Promise.resolve(undefined),
      find: failWithFault,
      keeping,
    })
    expect(keeping.snapshot.last?.at).toBeNull()
    await runGuardRound(guardJob, { state, tip: tipAt(E - 30), output: () => Promise.resolve(undefined), keeping })
    expect(keeping.snapshot.last?.at).toBe(0)
  })

  test('counts as complete although an order at another node was only logged', async () => {
    const [keeping, errors, state] = [newGuardState(), [] as unknown[], stateAfter(...heldHistory)]
    const scenario = { state, tip: tipAt(E - 24), nodeHeight: E - 24, keeping, errors }
    expect(await runGuardRound(guardJob, { ...scenario, now: 1, pubkey: stranger })).toEqual([])
    expect(keeping.snapshot.last?.at).toBe(1)
    expect(errors).toEqual([{ orders: 1, first: [ORDER_ID], nodes: [state.hold.request?.node], connected: stranger }])
    expect(await runGuardRound(guardJob, { ...scenario, now: 2, pubkey: `${state.hold.request?.node}` })).toMatchObject([
      { type: 'Guard' },
    ])
    expect(errors).toHaveLength(1)
  })

  test('logs orders at another node once, and again after a change', async () => {
    const [keeping, errors, state] = [newGuardState(), [] as unknown[], stateAfter(...heldHistory)]
    const scenario = { state, tip: tipAt(E - 30), keeping, errors }
    const own = `${state.hold.request?.node}`
    for (const pubkey of [stranger, stranger, seller, seller, own, stranger])
      await runGuardRound(guardJob, { ...scenario, pubkey })
    expect(errors.map((line) => (line as { connected: string }).connected)).toEqual([stranger, seller, stranger])
  })

  test('counts an unreadable hold before any round was complete', async () => {
    const keeping = newGuardState()
    await runGuardRound(guardJob, { state: stateAfter(...heldHistory), tip: tipAt(E - 30), broken, held: failWithFault, keeping })
    expect(keeping.snapshot.last).toEqual({ orders: new Map(), height: E - 30, unread: 1, at: null })
  })
})

test('the guard decides at the last height even if the node does not list held invoices', async () => {
  expect(await runGuardRound(guardJob, { state: stateAfter(...heldHistory), tip: tipAt(E - 24), held: failWithFault })).toEqual([
    unnamed,
  ])
})

test.each(['held', 'find'] as const)('a node that never answers "%s" stops neither this round nor the next one', async (call) => {
  const scenario = { state: stateAfter(...heldHistory), tip: tipAt(E - 24), [call]: neverAnswer }
  expect(await runGuardRound(guardJob, scenario)).toEqual([unnamed])
  expect(await runGuardRound(guardByClockJob, scenario)).toEqual([unnamed])
})

test('the guard decides by the node’s height if the chain source never answers', async () => {
  expect(
    await runGuardRound(guardByClockJob, { state: stateAfter(...heldHistory), tip: neverAnswer, nodeHeight: E - 24 }),
  ).toEqual([unnamed])
})

test.each([
  ['fails', failWithFault],
  ['never arrives', neverAnswer],
])('the guard continues with the known holds if the list of unfinished holds %s', async (_, unfinished) => {
  const state = stateAfter(...heldHistory)
  const keeping = newGuardState()
  expect(await runGuardRound(guardJob, { state, tip: tipAt(E - 25), keeping })).toEqual([])
  expect(await runGuardRound(guardJob, { state, tip: tipAt(E - 24), keeping, unfinished })).toEqual([unnamed])
  const made = { ...newGuardState(), issuedHere: new Set([ORDER_ID]) }
  expect(await runGuardRound(guardJob, { state, tip: tipAt(E - 24), keeping: made, unfinished })).toEqual([unnamed])
  expect(await runGuardRound(guardJob, { state, tip: tipAt(E - 24), unfinished })).toEqual([])
})

test('an order that is missing from the list is guarded while the node holds its payment', async () => {
  const keeping = newGuardState()
  const unfinished = () => Promise.resolve([])
  const held = () => Promise.resolve([heldInvoice])
  await runGuardRound(guardJob, { state: stateAfter(...openHistory), tip: tipAt(899), keeping })
  expect(
    await runGuardRound(guardJob, { state: stateAfter(...openHistory), tip: tipAt(900), held, unfinished, keeping }),
  ).toMatchObject([{ type: 'RecordHeld' }])
})

test('a held payment of no known order is logged once, and not changed', async () => {
  const [keeping, errors] = [newGuardState(), [] as unknown[]]
  const foreign = { ...heldInvoice, paymentHash: '99'.repeat(32) }
  const scenario = { state: stateAfter(...openHistory), tip: tipAt(900), held: () => Promise.resolve([foreign]), keeping, errors }
  expect(await runGuardRound(guardJob, scenario)).toEqual([])
  expect(await runGuardRound(guardJob, scenario)).toEqual([])
  expect(errors).toEqual([{ paymentHash: foreign.paymentHash, amountMsat: '5000000' }])
})

test('a payment that was not reported is found at the next block', async () => {
  const held = () => Promise.resolve([heldInvoice])
  expect(await runGuardRound(guardJob, { state: stateAfter(...openHistory), tip: tipAt(900), held })).toMatchObject([
    { type: 'RecordHeld', data: { height: 900, receivedMsat: '5000000', crowdedPeer: null } },
  ])
  expect(await runGuardRound(guardJob, { state: stateAfter(...heldHistory), tip: tipAt(900), held })).toEqual([])
})

test('a round decides about a payment that it has just recorded', async () => {
  let isRecorded = false
  const stateOf = () => stateAfter(...(isRecorded ? heldHistory : openHistory))
  const onCommand = () => void (isRecorded = true)
  const held = () => Promise.resolve([heldInvoice])
  const scenario = { state: stateAfter(), tip: tipAt(E - 24), held, stateOf, onCommand }
  expect(await runGuardRound(guardJob, scenario)).toMatchObject([{ type: 'RecordHeld' }, unnamed])
})

test('a due decision is about an outpoint that was registered after the round began', async () => {
  const histories = [heldHistory]
  const stateOf = () => stateAfter(...(histories.pop() ?? registeredHistory))
  const output = () => Promise.resolve(undefined)
  const scenario = { state: stateAfter(), tip: tipAt(E - 24), output, stateOf }
  expect(await runGuardRound(guardJob, scenario)).toMatchObject([{ type: 'Guard', data: { outpoint: OUTPOINT } }])
})

test('an order that was settled during the round counts as no sign of a restored copy', async () => {
  const histories = [heldHistory]
  const errors: unknown[] = []
  const stateOf = () => stateAfter(...(histories.pop() ?? settledHistory))
  const find = () => Promise.resolve<Invoice>({ ...heldInvoice, state: 'settled' })
  const scenario = { state: stateAfter(), tip: tipAt(900), stateOf, errors }
  await runGuardRound(guardJob, { ...scenario, find })
  expect(errors).toEqual([])
  await runGuardRound(guardJob, { ...scenario, stateOf: () => stateAfter(...heldHistory), find })
  expect(errors).toEqual([{ order: ORDER_ID, hold: 'held' }])
})

test.each([
  ['fails', failWithFault],
  ['never answers', neverAnswer],
])('if the chain source %s, the guard sends its command only at the last height', async (_, output) => {
  const state = stateAfter(...registeredHistory, settlementWantedFact)
  expect(await runGuardRound(guardJob, { state, tip: tipAt(E - 25), output })).toEqual([])
  expect(await runGuardRound(guardJob, { state, tip: tipAt(E - 24), output })).toEqual([
    { type: 'Guard', data: { height: E - 24, outpoint: OUTPOINT, evidence: null, observedAt: 0, nodeReady: true } },
  ])
})

test('before the last height, the guard waits for an announcement that arrives shortly after its block', async () => {
  const channel = { capacitySat: 1_000_000n, nodes: [seller], shortChannelId: '901x1x0', policies: [] }
  const after = (looks: number) => () => Promise.resolve(looks-- > 0 ? undefined : channel)
  const output = () => Promise.resolve({ ...sampleEvidence().output, valueSat: 1_000_000n })
  const scenario = { state: stateAfter(...registeredHistory, settlementWantedFact), output, probe: failWithFault }
  const expected = (graph: object | null) => [{ data: { evidence: { graph } } }]
  expect(await runGuardRound(guardJob, { ...scenario, tip: tipAt(906), announced: after(2) })).toMatchObject(
    expected({ shortChannelId: '901x1x0' }),
  )
  expect(await runGuardRound(guardJob, { ...scenario, tip: tipAt(E - 24), announced: after(1) })).toMatchObject(expected(null))
})

test('after the settlement no proof is pending, so a channel that is not announced delays no payout', async () => {
  const output = () => Promise.resolve({ ...sampleEvidence().output, valueSat: 1_000_000n })
  const round = { output, probe: failWithFault, tip: tipAt(908), nodeHeight: 908 }
  expect(await runGuardRound(guardJob, { ...round, state: stateAfter(...settledHistory) })).toMatchObject([
    { type: 'Guard', data: { evidence: { graph: null }, nodeReady: true } },
  ])
  const held = stateAfter(...registeredHistory, settlementWantedFact)
  expect(await runGuardRound(guardJob, { ...round, state: held })).toMatchObject([{ data: { nodeReady: false } }])
})

test('a replica without evidence at the last height waits, so that other replicas can decide first', async () => {
  const waits: number[] = []
  await runGuardRound(guardJob, {
    state: stateAfter(...registeredHistory, settlementWantedFact),
    tip: tipAt(E - 24),
    output: failWithFault,
    waits,
  })
  expect(waits.filter((ms) => ms === 3000)).toHaveLength(2)
})

test('evidence from the last try at the last height counts, with the time of that try', async () => {
  const scenario = { state: stateAfter(...registeredHistory, settlementWantedFact), tip: tipAt(E - 24), now: 0 }
  const output = () => {
    scenario.now += 25_000
    return scenario.now < 75_000 ? failWithFault() : Promise.resolve(undefined)
  }
  expect(await runGuardRound(guardJob, Object.assign(scenario, { output }))).toMatchObject([
    { type: 'Guard', data: { evidence: { output: null }, observedAt: 50_000 } },
  ])
})

test('evidence from an older block that lacks the channel does not count', async () => {
  const state = stateAfter(...registeredHistory, settlementWantedFact)
  const stale = { tip: tipAt(E - 29), nodeHeight: E - 24, output: () => Promise.resolve(undefined) }
  const nothing = { type: 'Guard', data: { height: E - 24, outpoint: OUTPOINT, evidence: null, observedAt: 0, nodeReady: true } }
  expect(await runGuardRound(guardByClockJob, { ...stale, state })).toEqual([nothing])
  const inMempool = () => Promise.resolve({ ...sampleEvidence().output, height: null, txIndex: null, valueSat: 1_000_000n })
  expect(await runGuardRound(guardByClockJob, { ...stale, state, output: inMempool })).toEqual([nothing])
  expect(await runGuardRound(guardByClockJob, { ...stale, state, nodeHeight: E - 28 })).toEqual([])
  expect(await runGuardRound(guardByClockJob, { ...stale, state: stateAfter(...settledHistory) })).toEqual([])
  let looks = 0
  const tip = () => tipAt(looks > 1 ? E - 24 : E - 29)()
  const output = async () => (++looks > 1 ? { ...sampleEvidence().output, valueSat: 1_000_000n } : undefined)
  expect(await runGuardRound(guardByClockJob, { ...stale, state, tip, output })).toMatchObject([
    { type: 'Guard', data: { evidence: { tipHeight: E - 24, output: { height: 901 } } } },
  ])
})

test('evidence from an older block with the channel counts at the last height if no newer evidence arrives', async () => {
  const waits: number[] = []
  const output = () => Promise.resolve({ ...sampleEvidence().output, valueSat: 1_000_000n })
  const scenario = {
    state: stateAfter(...registeredHistory, settlementWantedFact),
    tip: tipAt(E - 29),
    nodeHeight: E - 24,
    output,
    waits,
  }
  expect(await runGuardRound(guardByClockJob, scenario)).toMatchObject([
    { type: 'Guard', data: { height: E - 24, evidence: { tipHeight: E - 29, output: { height: 901 } } } },
  ])
  expect(waits.filter((ms) => ms === 3000)).toHaveLength(2)
})

describe('while our own node is offline at the last height, and the chain source reports blocks', () => {
  const output = () => Promise.resolve({ ...sampleEvidence().output, valueSat: 1_000_000n })
  const hold = { named: stateAfter(...registeredHistory, settlementWantedFact), unnamed: stateAfter(...heldHistory) }

  test.each(Object.entries(hold))('the guard decides nothing, and no round counts as complete: %s', async (_, state) => {
    const keeping = newGuardState()
    const scenario = { state, pubkey: `${state.hold.request?.node}`, output, keeping }
    await runGuardRound(guardJob, { ...scenario, tip: tipAt(E - 25), now: 1 })
    for (const height of [E - 24, E - 12, E])
      expect(await runGuardRound(guardJob, { ...scenario, tip: tipAt(height), nodeHeight: null, now: 2 })).toEqual([])
    expect(keeping.snapshot.last?.at).toBe(1)
  })

  test('the guard makes no decision if the node stops while the evidence is gathered', async () => {
    let infoCalls = 0
    const info = () => (infoCalls++ === 0 ? Promise.resolve({ synced: true, graphSynced: true }) : failWithFault())
    expect(await runGuardRound(guardJob, { state: hold.named, tip: tipAt(E - 24), output: failWithFault, info })).toEqual([])
    expect(infoCalls).toBe(2)
  })

  test('the guard decides after the node’s return, by the node’s evidence and readiness', async () => {
    const keeping = newGuardState()
    for (const isNew of [true, false])
      expect(
        await runGuardRound(guardJob, { state: hold.named, tip: tipAt(E - 20), output, isNew, keeping, now: isNew ? 0 : 30_000 }),
      ).toMatchObject([{ type: 'Guard', data: { outpoint: OUTPOINT, evidence: { output: { height: 901 } }, nodeReady: !isNew } }])
  })
})

test('evidence is gathered only for orders that wait for it', async () => {
  const output = () => Promise.resolve(undefined)
  const expected = [{ type: 'Guard', data: { outpoint: OUTPOINT, evidence: { output: null } } }]
  expect(await runGuardRound(guardJob, { state: stateAfter(...registeredHistory), tip: tipAt(900), output })).toEqual([])
  expect(
    await runGuardRound(guardJob, { state: stateAfter(...registeredHistory, settlementWantedFact), tip: tipAt(900), output }),
  ).toMatchObject(expected)
  expect(await runGuardRound(guardJob, { state: stateAfter(...settledHistory), tip: tipAt(900), output })).toMatchObject(expected)
})

test('a round over a thousand holds reads each hold once, decides the most urgent hold first, and yields between holds', async () => {
  const orders = [...Array.from({ length: 1000 }, (_, n) => `order ${n}`), ORDER_ID]
  const [waits, decidedAfter] = [[] as number[], [] as number[]]
  const reads: string[] = []
  const turns = () => waits.filter((ms) => ms === 0).length
  const stateOf = (orderId: string) => {
    reads.push(orderId)
    return stateAfter(...(orderId === ORDER_ID ? heldHistory : openHistory))
  }
  const scenario = { state: stateAfter(), tip: tipAt(E - 24), unfinished: () => Promise.resolve(orders), stateOf, waits }
  expect(await runGuardRound(guardJob, { ...scenario, onCommand: () => decidedAfter.push(turns()) })).toEqual([unnamed])
  // A due decision reads its hold a second time.
  expect(reads.toSorted()).toEqual([...orders, ORDER_ID].toSorted())
  expect([decidedAfter, turns()]).toEqual([[orders.length - 16], 2 * (orders.length - 16)])
})
