import type { EvidenceData, SettlementFact } from '@penstock/contracts/settlement.ts'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { EvidencePorts } from '@penstock/ports/evidence.ts'
import { expect, test } from 'vitest'
import {
  E,
  evidence,
  fact,
  isNoted,
  noted,
  seller,
  settleAsked,
  stateAfter,
  toHeld,
  toNoted,
  toSettled,
} from '../samples.contract.ts'
import { mayProofCome, onceAnnounced } from './prove.ts'

const channel = { capacitySat: 1_000_000n, nodes: [seller, noted.terms.buyerPubkey], shortChannelId: '901x1x0', policies: [] }
/** At the sixth confirmation. */
const before = evidence({ tipHeight: 906, graph: null, probe: 'not-tried' })

type World = {
  /** What our graph answers, one look after the other. */
  readonly graph: readonly (() => Promise<object | undefined>)[]
  readonly tipHeight?: number
}

const yes = () => Promise.resolve(channel)
const no = () => Promise.resolve(undefined)
const fails = (error: Error) => () => Promise.reject(error)

async function look(
  { graph, tipHeight = 907 }: World,
  hold = stateAfter(...toNoted, settleAsked).hold,
  seen: EvidenceData = before,
) {
  const pauses: number[] = []
  const left = [...graph]
  const ports = {
    clock: {
      now: () => pauses.reduce((sum, ms) => sum + ms, 0),
      monotonicMs: () => pauses.reduce((sum, ms) => sum + ms, 0),
      // What takes longer is a limit, and no pause.
      sleep: (ms: number) => (ms < 1000 ? Promise.resolve(void pauses.push(ms)) : new Promise<void>(() => undefined)),
    },
    chain: {
      tip: () => Promise.resolve({ height: tipHeight }),
      output: () => Promise.resolve({ ...evidence().output, valueSat: 1_000_000n }),
    },
    lightning: {
      graph: { channel: () => (left.shift() ?? no)(), between: () => Promise.resolve([]) },
    },
  } as unknown as EvidencePorts // only what is asked is there
  return { found: await onceAnnounced(ports, hold, seen), pauses }
}

test('what came into our graph meanwhile is seen with all else as it stands then', async () => {
  const { found, pauses } = await look({ graph: [no, yes, yes] })
  expect(found).toMatchObject({
    evidence: { tipHeight: 907, graph: { shortChannelId: '901x1x0' }, output: { height: 901 } },
    lookedAt: 50,
  })
  expect(pauses).toEqual([0, 50])
})

test('what stays away, or what a node says no more, adds nothing', async () => {
  expect(await look({ graph: [] })).toEqual({ found: undefined, pauses: [0, 50, 100, 150, 300] })
  expect((await look({ graph: [no, fails(new Fault('no answer'))] })).found).toBeUndefined()
  expect((await look({ graph: [yes, fails(new Fault('no answer'))] })).found).toBeUndefined()
  expect((await look({ graph: [yes, yes], tipHeight: 905 })).found).toBeUndefined()
  await expect(look({ graph: [fails(new Bug('a mistake of ours'))] })).rejects.toThrow('a mistake of ours')
})

test('nobody waits where something else is missing, or where nobody will announce it', async () => {
  const secret = fact('OutpointNoted', { ...noted, terms: { ...noted.terms, isPrivate: true } })
  const graph = [yes, yes]
  const nothing = { found: undefined, pauses: [] }
  expect(await look({ graph }, stateAfter(...toHeld, secret, settleAsked).hold)).toEqual(nothing)
  expect(await look({ graph }, stateAfter(...toHeld).hold)).toEqual(nothing)
  expect(await look({ graph }, stateAfter(...toSettled).hold)).toEqual(nothing)
  for (const height of [900, 902, 905]) {
    const seen = evidence({ tipHeight: 906, graph: null, probe: 'not-tried' }, { height })
    expect(await look({ graph }, undefined, seen)).toEqual(nothing)
  }
  expect(await look({ graph }, undefined, evidence())).toEqual(nothing)
})

test('a peer proof may still come for a channel in a block, up to E - 18, and not for a seller that is believed without one', () => {
  const chainOnly = evidence({ graph: null })
  const hold = (...facts: readonly SettlementFact[]) => stateAfter(...toHeld, ...facts).hold
  const rails = fact('OutpointNoted', { ...noted, terms: { ...noted.terms, rails: true } })
  const tried = (reached: boolean) => fact('BuyerReachTried', { height: E - 24, reached, reason: 'x' })
  expect(mayProofCome(hold(isNoted), chainOnly, E - 19)).toBe(true)
  expect(mayProofCome(hold(isNoted), chainOnly, E - 18)).toBe(false)
  expect(mayProofCome(hold(rails, tried(true)), chainOnly, E - 24)).toBe(true)
  expect(mayProofCome(hold(rails, tried(false)), chainOnly, E - 24)).toBe(false)
  expect(mayProofCome(hold(isNoted), evidence(), E - 24)).toBe(false)
  expect(mayProofCome(hold(isNoted), { ...chainOnly, probe: 'reached' }, E - 24)).toBe(false)
  expect(mayProofCome(hold(isNoted), { ...chainOnly, output: null }, E - 24)).toBe(false)
})
