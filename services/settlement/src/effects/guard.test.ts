import { describe, expect, test } from 'vitest'
import {
  E,
  evidence,
  ORDER,
  OUTPOINT,
  seller,
  settleAsked,
  stateAfter,
  stranger,
  toHeld,
  toNoted,
  toOpen,
  toSettled,
} from '../samples.contract.ts'
import { custody } from './custody.ts'
import { guardByClockJob, guardJob } from './guard.ts'
import { at, away, heldInvoice, round, silent } from './guard-round.contract.ts'

const unnamed = { type: 'Guard', data: { height: E - 24, outpoint: null, evidence: null, lookedAt: 0, nodeReady: true } }

test('without a chain, or with one that is behind, the node’s height counts', async () => {
  const state = stateAfter(...toHeld)
  expect(await round(guardByClockJob, { state, nodeHeight: E - 24 })).toEqual([unnamed])
  expect(await round(guardByClockJob, { state, tip: at(E - 30), nodeHeight: E - 24 })).toEqual([unnamed])
  expect(await round(guardByClockJob, { state, tip: at(E - 24), nodeHeight: E - 30 })).toEqual([unnamed])
  expect(await round(guardByClockJob, { state, tip: at(E - 25), nodeHeight: E - 25 })).toEqual([])
  await expect(round(guardByClockJob, { state, nodeHeight: null })).rejects.toThrow('neither the chain nor the node')
})

test('a hold that cannot be looked at does not end the round for those after it', async () => {
  const [broken, errors] = ['an order that cannot be read', [] as unknown[]]
  const unfinished = () => Promise.resolve([broken, ORDER])
  const said = await round(guardJob, { state: stateAfter(...toHeld), tip: at(E - 24), unfinished, broken, errors }).catch(String)
  expect(said).toEqual([unnamed])
  expect(errors).toContainEqual(expect.objectContaining({ order: broken, height: E - 24 }))
})

describe('what the metrics are made of', () => {
  const seen = { height: E - 30, unread: 0, at: 1 }
  /** A custody whose guard went through one held payment before. */
  const afterOneRound = async () => {
    const keeping = custody()
    const state = stateAfter(...toHeld)
    await round(guardJob, { state, tip: at(E - 30), now: 1, keeping })
    expect(keeping.sight.last).toEqual({ ...seen, orders: new Map([[ORDER, state]]) })
    return { keeping, state, orders: new Map([[ORDER, state]]), now: 2 }
  }
  const broken = ORDER

  test('a stream that cannot be read shows as it was seen last, and the round does not count', async () => {
    const { keeping, orders, ...world } = await afterOneRound()
    await round(guardJob, { ...world, tip: at(E - 29), broken, keeping })
    expect(keeping.sight.last).toEqual({ ...seen, orders, height: E - 29, unread: 1 })
    await round(guardJob, { ...world, tip: at(E - 28), keeping })
    expect(keeping.sight.last).toEqual({ ...seen, orders, height: E - 28, at: 2 })
  })

  test.each([
    ['the node does not tell what it holds', { held: away }],
    ['the unfinished holds cannot be listed', { unfinished: away }],
  ])('%s: the round does not count', async (_, change) => {
    const { keeping, orders, ...world } = await afterOneRound()
    await round(guardJob, { ...world, tip: at(E - 29), ...change, keeping })
    expect(keeping.sight.last).toEqual({ ...seen, orders, height: E - 29 })
  })

  test('a channel of which nothing can be learnt, or an invoice that cannot be found: the round does not count', async () => {
    const keeping = custody()
    const state = stateAfter(...toNoted, settleAsked)
    await round(guardJob, { state, tip: at(E - 30), output: away, keeping })
    expect(keeping.sight.last?.at).toBeNull()
    await round(guardJob, { state, tip: at(E - 30), output: () => Promise.resolve(undefined), find: away, keeping })
    expect(keeping.sight.last?.at).toBeNull()
    await round(guardJob, { state, tip: at(E - 30), output: () => Promise.resolve(undefined), keeping })
    expect(keeping.sight.last?.at).toBe(0)
  })

  test('an order that another node has is told of, and the round counts: everything else was done', async () => {
    const [keeping, errors, state] = [custody(), [] as unknown[], stateAfter(...toHeld)]
    const world = { state, tip: at(E - 24), nodeHeight: E - 24, keeping, errors }
    expect(await round(guardJob, { ...world, now: 1, pubkey: stranger })).toEqual([])
    expect(keeping.sight.last?.at).toBe(1)
    expect(errors).toEqual([{ orders: 1, first: [ORDER], nodes: [state.hold.request?.node], connected: stranger }])
    expect(await round(guardJob, { ...world, now: 2, pubkey: `${state.hold.request?.node}` })).toMatchObject([{ type: 'Guard' }])
    expect(errors).toHaveLength(1)
  })

  test('orders that another node has are named once, and again after a change', async () => {
    const [keeping, errors, state] = [custody(), [] as unknown[], stateAfter(...toHeld)]
    const world = { state, tip: at(E - 30), keeping, errors }
    const own = `${state.hold.request?.node}`
    for (const pubkey of [stranger, stranger, seller, seller, own, stranger]) await round(guardJob, { ...world, pubkey })
    expect(errors.map((line) => (line as { connected: string }).connected)).toEqual([stranger, seller, stranger])
  })

  test('before anything could be read there is no round, and the hold is counted', async () => {
    const keeping = custody()
    await round(guardJob, { state: stateAfter(...toHeld), tip: at(E - 30), broken, held: away, keeping })
    expect(keeping.sight.last).toEqual({ orders: new Map(), height: E - 30, unread: 1, at: null })
  })
})

test('a node that does not tell what it holds does not keep the last height from being kept', async () => {
  expect(await round(guardJob, { state: stateAfter(...toHeld), tip: at(E - 24), held: away })).toEqual([unnamed])
})

test.each(['held', 'find'] as const)('a node that never answers "%s" stops neither the round nor the next', async (call) => {
  const world = { state: stateAfter(...toHeld), tip: at(E - 24), [call]: silent }
  expect(await round(guardJob, world)).toEqual([unnamed])
  expect(await round(guardByClockJob, world)).toEqual([unnamed])
})

test('a chain that never answers leaves the word to the node', async () => {
  expect(await round(guardByClockJob, { state: stateAfter(...toHeld), tip: silent, nodeHeight: E - 24 })).toEqual([unnamed])
})

test.each([
  ['is away', away],
  ['never answers', silent],
])('a list of unfinished holds that %s: the guard goes on with those it knows', async (_, unfinished) => {
  const state = stateAfter(...toHeld)
  const keeping = custody()
  expect(await round(guardJob, { state, tip: at(E - 25), keeping })).toEqual([])
  expect(await round(guardJob, { state, tip: at(E - 24), keeping, unfinished })).toEqual([unnamed])
  const made = { ...custody(), made: new Set([ORDER]) }
  expect(await round(guardJob, { state, tip: at(E - 24), keeping: made, unfinished })).toEqual([unnamed])
  expect(await round(guardJob, { state, tip: at(E - 24), unfinished })).toEqual([])
})

test('a payment that the node holds brings its order back, wherever the list has lost it', async () => {
  const keeping = custody()
  const unfinished = () => Promise.resolve([])
  const held = () => Promise.resolve([heldInvoice])
  await round(guardJob, { state: stateAfter(...toOpen), tip: at(899), keeping })
  expect(await round(guardJob, { state: stateAfter(...toOpen), tip: at(900), held, unfinished, keeping })).toMatchObject([
    { type: 'RecordHeld' },
  ])
})

test('a held payment of no order that we know is told once, and left alone', async () => {
  const [keeping, errors] = [custody(), [] as unknown[]]
  const foreign = { ...heldInvoice, paymentHash: '99'.repeat(32) }
  const world = { state: stateAfter(...toOpen), tip: at(900), held: () => Promise.resolve([foreign]), keeping, errors }
  expect(await round(guardJob, world)).toEqual([])
  expect(await round(guardJob, world)).toEqual([])
  expect(errors).toEqual([{ paymentHash: foreign.paymentHash, amountMsat: '5000000' }])
})

test('a payment that nobody reported is found at the next block', async () => {
  const held = () => Promise.resolve([heldInvoice])
  expect(await round(guardJob, { state: stateAfter(...toOpen), tip: at(900), held })).toMatchObject([
    { type: 'RecordHeld', data: { height: 900, receivedMsat: '5000000', crowdedPeer: null } },
  ])
  expect(await round(guardJob, { state: stateAfter(...toHeld), tip: at(900), held })).toEqual([])
})

test.each([
  ['is away', away],
  ['never answers', silent],
])('a chain that %s: waited for before the last height, no longer at it', async (_, output) => {
  const state = stateAfter(...toNoted, settleAsked)
  expect(await round(guardJob, { state, tip: at(E - 25), output })).toEqual([])
  expect(await round(guardJob, { state, tip: at(E - 24), output })).toEqual([
    { type: 'Guard', data: { height: E - 24, outpoint: OUTPOINT, evidence: null, lookedAt: 0, nodeReady: true } },
  ])
})

test('a channel that is announced a moment after its block is seen as it stands then, before the last height', async () => {
  const channel = { capacitySat: 1_000_000n, nodes: [seller], shortChannelId: '901x1x0', policies: [] }
  const after = (looks: number) => () => Promise.resolve(looks-- > 0 ? undefined : channel)
  const output = () => Promise.resolve({ ...evidence().output, valueSat: 1_000_000n })
  const world = { state: stateAfter(...toNoted, settleAsked), output, probe: away }
  const word = (graph: object | null) => [{ data: { evidence: { graph } } }]
  expect(await round(guardJob, { ...world, tip: at(906), announced: after(2) })).toMatchObject(
    word({ shortChannelId: '901x1x0' }),
  )
  expect(await round(guardJob, { ...world, tip: at(E - 24), announced: after(1) })).toMatchObject(word(null))
})

test('who sees nothing at the last height leaves others the time to see', async () => {
  const waits: number[] = []
  await round(guardJob, { state: stateAfter(...toNoted, settleAsked), tip: at(E - 24), output: away, waits })
  expect(waits.filter((ms) => ms === 3000)).toHaveLength(2)
})

test('at the last height a node that answers at the last try is believed, as of that look', async () => {
  const world = { state: stateAfter(...toNoted, settleAsked), tip: at(E - 24), now: 0 }
  const output = () => {
    world.now += 25_000
    return world.now < 75_000 ? away() : Promise.resolve(undefined)
  }
  expect(await round(guardJob, Object.assign(world, { output }))).toMatchObject([
    { type: 'Guard', data: { evidence: { output: null }, lookedAt: 50_000 } },
  ])
})

test('a channel that an older block does not have is waited for, whatever height comes with it', async () => {
  const state = stateAfter(...toNoted, settleAsked)
  const stale = { tip: at(E - 29), nodeHeight: E - 24, output: () => Promise.resolve(undefined) }
  const nothing = { type: 'Guard', data: { height: E - 24, outpoint: OUTPOINT, evidence: null, lookedAt: 0, nodeReady: true } }
  expect(await round(guardByClockJob, { ...stale, state })).toEqual([nothing])
  const inMempool = () => Promise.resolve({ ...evidence().output, height: null, txIndex: null, valueSat: 1_000_000n })
  expect(await round(guardByClockJob, { ...stale, state, output: inMempool })).toEqual([nothing])
  expect(await round(guardByClockJob, { ...stale, state, nodeHeight: E - 28 })).toEqual([])
  expect(await round(guardByClockJob, { ...stale, state: stateAfter(...toSettled) })).toEqual([])
  let looks = 0
  const tip = () => at(looks > 1 ? E - 24 : E - 29)()
  const output = async () => (++looks > 1 ? { ...evidence().output, valueSat: 1_000_000n } : undefined)
  expect(await round(guardByClockJob, { ...stale, state, tip, output })).toMatchObject([
    { type: 'Guard', data: { evidence: { tipHeight: E - 24, output: { height: 901 } } } },
  ])
})

test('one that an older block has counts at the last height, where nobody says more in time', async () => {
  const waits: number[] = []
  const output = () => Promise.resolve({ ...evidence().output, valueSat: 1_000_000n })
  const world = { state: stateAfter(...toNoted, settleAsked), tip: at(E - 29), nodeHeight: E - 24, output, waits }
  expect(await round(guardByClockJob, world)).toMatchObject([
    { type: 'Guard', data: { height: E - 24, evidence: { tipHeight: E - 29, output: { height: 901 } } } },
  ])
  expect(waits.filter((ms) => ms === 3000)).toHaveLength(2)
})

describe('our own node is away at the last height, and a bitcoin node tells of the blocks', () => {
  const output = () => Promise.resolve({ ...evidence().output, valueSat: 1_000_000n })
  const hold = { named: stateAfter(...toNoted, settleAsked), unnamed: stateAfter(...toHeld) }

  test.each(Object.entries(hold))('no word is said, however often it is asked, and no round counts: %s', async (_, state) => {
    const keeping = custody()
    const world = { state, pubkey: `${state.hold.request?.node}`, output, keeping }
    await round(guardJob, { ...world, tip: at(E - 25), now: 1 })
    for (const height of [E - 24, E - 12, E])
      expect(await round(guardJob, { ...world, tip: at(height), nodeHeight: null, now: 2 })).toEqual([])
    expect(keeping.sight.last?.at).toBe(1)
  })

  test('nor where it ends under the look: its silence proves nothing', async () => {
    let asked = 0
    const info = () => (asked++ === 0 ? Promise.resolve({ synced: true, graphSynced: true }) : away())
    expect(await round(guardJob, { state: hold.named, tip: at(E - 24), output: away, info })).toEqual([])
    expect(asked).toBe(2)
  })

  test('the word is said by what it shows when it is back, and by whether it has heard of all', async () => {
    const keeping = custody()
    for (const isNew of [true, false])
      expect(
        await round(guardJob, { state: hold.named, tip: at(E - 20), output, isNew, keeping, now: isNew ? 0 : 30_000 }),
      ).toMatchObject([{ type: 'Guard', data: { outpoint: OUTPOINT, evidence: { output: { height: 901 } }, nodeReady: !isNew } }])
  })
})

test('evidence is gathered for those who wait for it', async () => {
  const output = () => Promise.resolve(undefined)
  const word = [{ type: 'Guard', data: { outpoint: OUTPOINT, evidence: { output: null } } }]
  expect(await round(guardJob, { state: stateAfter(...toNoted), tip: at(900), output })).toEqual([])
  expect(await round(guardJob, { state: stateAfter(...toNoted, settleAsked), tip: at(900), output })).toMatchObject(word)
  expect(await round(guardJob, { state: stateAfter(...toSettled), tip: at(900), output })).toMatchObject(word)
})

test('of a thousand holds each is judged, in turns: whoever is near its height in the first', async () => {
  const orders = [...Array.from({ length: 1000 }, (_, n) => `order ${n}`), ORDER]
  const [waits, saidAfter] = [[] as number[], [] as number[]]
  const looked = new Set<string>()
  const turns = () => waits.filter((ms) => ms === 0).length
  const stateOf = (orderId: string) => looked.add(orderId) && stateAfter(...(orderId === ORDER ? toHeld : toOpen))
  const world = { state: stateAfter(), tip: at(E - 24), unfinished: () => Promise.resolve(orders), stateOf, waits }
  expect(await round(guardJob, { ...world, onWord: () => saidAfter.push(turns()) })).toEqual([unnamed])
  expect(looked.size).toBe(orders.length)
  expect([saidAfter, turns()]).toEqual([[orders.length - 16], 2 * (orders.length - 16)])
})
