import { Fault } from '@penstock/kernel/result.ts'
import type { Invoice } from '@penstock/ports/lightning.ts'
import type { Ask } from '@penstock/runtime/service.ts'
import { expect, test } from 'vitest'
import {
  E,
  HASH,
  ORDER,
  OUTPOINT,
  settleAsked,
  stateAfter,
  stranger,
  toHeld,
  toNoted,
  toOpen,
  toSettled,
} from '../samples.contract.ts'
import type { Settlement } from '../state.ts'
import { guardByClockJob, guardJob } from './guard.ts'
import type { Jobs } from './record.ts'
import { slots } from './slots.ts'

const away = (): Promise<never> => Promise.reject(new Fault('no answer'))
const silent = (): Promise<never> => new Promise(() => undefined)
const heldInvoice: Invoice = {
  paymentHash: HASH,
  request: '',
  amountMsat: 5_000_000n,
  state: 'held',
  htlcs: [{ amountMsat: 5_000_000n, expiryHeight: E, peer: stranger, state: 'held' }],
}

type World = {
  state: Settlement
  tip?: () => Promise<unknown>
  nodeHeight?: number | null
  held?: () => Promise<readonly Invoice[]>
  output?: () => Promise<unknown>
}
/** One round of a guard over one order, in a world that answers as it is told. @returns what was decided */
async function round(
  job: typeof guardJob,
  { state, tip = away, nodeHeight = null, held = () => Promise.resolve([]), output = away }: World,
) {
  const said: Ask['command'][] = []
  const stop = new AbortController()
  let looks = 0
  const quiet = { error: () => undefined, warn: () => undefined }
  const context = {
    ports: {
      log: quiet,
      config: { heldPerPeer: 50 },
      // Time passes at once; the second look of the clock is the end of the test.
      clock: {
        now: () => 0,
        sleep: (ms: number) => {
          if (ms === 30_000 && ++looks > 1) stop.abort()
          return Promise.resolve()
        },
      },
      chain: {
        tip,
        output,
        async *tips() {
          yield await tip()
        },
      },
      lightning: {
        info: () => (nodeHeight === null ? away() : Promise.resolve({ height: nodeHeight })),
        holds: { held, find: () => Promise.resolve(undefined) },
        graph: { channel: () => Promise.resolve(undefined), between: () => Promise.resolve([]) },
      },
    },
    unfinished: () => Promise.resolve([ORDER]),
    load: () => Promise.resolve({ state, revision: 1 }),
    decide: (ask: Ask) => {
      said.push(ask.command)
      return Promise.resolve({ outcome: 'accepted', revision: 1 })
    },
    advance: () => Promise.resolve(),
  }
  // Only what the guard calls is there.
  await job({ slots: slots(), made: new Set() }).run(context as unknown as Jobs, stop.signal)
  return said
}

const at = (height: number) => () => Promise.resolve({ height, hash: 'h', synced: true })
const unnamed = { type: 'Guard', data: { height: E - 24, outpoint: null, evidence: null } }

test('without a chain, or with one that is behind, the node’s height counts', async () => {
  const state = stateAfter(...toHeld)
  expect(await round(guardByClockJob, { state, nodeHeight: E - 24 })).toEqual([unnamed])
  expect(await round(guardByClockJob, { state, tip: at(E - 30), nodeHeight: E - 24 })).toEqual([unnamed])
  expect(await round(guardByClockJob, { state, tip: at(E - 24), nodeHeight: E - 30 })).toEqual([unnamed])
  expect(await round(guardByClockJob, { state, tip: at(E - 25), nodeHeight: E - 25 })).toEqual([])
  await expect(round(guardByClockJob, { state })).rejects.toThrow('neither the chain nor the node')
})

test('a node that tells nothing does not keep the last height from being kept', async () => {
  expect(await round(guardJob, { state: stateAfter(...toHeld), tip: at(E - 24), held: away })).toEqual([unnamed])
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
    { type: 'Guard', data: { height: E - 24, outpoint: OUTPOINT, evidence: null } },
  ])
})

test('evidence is gathered for those who wait for it', async () => {
  const output = () => Promise.resolve(undefined)
  const word = [{ type: 'Guard', data: { outpoint: OUTPOINT, evidence: { output: null } } }]
  expect(await round(guardJob, { state: stateAfter(...toNoted), tip: at(900), output })).toEqual([])
  expect(await round(guardJob, { state: stateAfter(...toNoted, settleAsked), tip: at(900), output })).toMatchObject(word)
  expect(await round(guardJob, { state: stateAfter(...toSettled), tip: at(900), output })).toMatchObject(word)
})
