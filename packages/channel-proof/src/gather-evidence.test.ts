import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import type { Chain, ChainOutput } from '@penstock/ports/chain.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { gatherEvidence } from './gather-evidence.ts'
import type { GraphChannel, Lightning, ProbeOutcome } from '@penstock/ports/lightning.ts'

const [seller, buyer] = [`02${'aa'.repeat(32)}`, `03${'bb'.repeat(32)}`]
const outpoint = `${'cd'.repeat(32)}:2`
const confirmed: ChainOutput = { outpoint, valueSat: 5n, script: '00', height: 101, txIndex: 7, spentBy: null }
const announced: GraphChannel = { outpoint, shortChannelId: '101x7x2', capacitySat: 5n, nodes: [seller, buyer], policies: [] }
const attestation = {
  outpoint,
  capacitySat: '5',
  nodeKeys: [seller, buyer] as [string, string],
  channelType: 'a',
  pushSat: '0',
  reserveSat: '1',
  signature: 's',
}

/** With `patient` timeouts never expire; with `hasty` they expire at once. */
const patient: Clock = { now: () => 0, monotonicMs: () => 0, sleep: () => new Promise(() => undefined) }
const hasty: Clock = { now: () => 0, monotonicMs: () => 0, sleep: () => Promise.resolve() }

type World = {
  output?: ChainOutput
  graph?: GraphChannel
  between?: readonly GraphChannel[]
  probe?: () => Promise<ProbeOutcome>
  signer?: string
}
async function gather(
  { output, graph, between = [], probe = () => Promise.resolve({ reached: true }), signer }: World,
  query: object = {},
  clock: Clock = patient,
) {
  const calls: unknown[] = []
  let lists = 0
  const lightning = {
    graph: {
      channel: () => Promise.resolve(graph),
      between: () => {
        lists++
        return Promise.resolve(between)
      },
      probe: (request: unknown) => {
        calls.push(request)
        return probe()
      },
    },
    messages: {
      recover: (text: string) => {
        calls.push(text)
        return Promise.resolve(signer)
      },
    },
  }
  const chain = { sees: { mempool: true }, tip: () => Promise.resolve({ height: 103 }), output: () => Promise.resolve(output) }
  const terms = { sellerPubkey: seller, buyerPubkey: buyer }
  // The fakes have only the methods that are called.
  const ports = { lightning: lightning as unknown as Lightning, chain: chain as unknown as Chain, clock }
  const evidence = await gatherEvidence(ports, { outpoint, terms, attestation: null, fromHeight: 100, probe: true, ...query })
  return { evidence, calls, lists }
}

test('the evidence is empty when the chain and the graph have no such channel', async () => {
  const { evidence, calls } = await gather({})
  expect(evidence).toEqual({
    tipHeight: 103,
    output: null,
    attestation: null,
    attestationSigner: null,
    graph: null,
    otherChannelsBetween: false,
    probe: 'not-tried',
  })
  expect(calls).toEqual([])
})

test('an announced channel needs no probe', async () => {
  const { evidence, calls } = await gather({ output: confirmed, graph: announced, between: [announced] })
  expect(evidence).toMatchObject({
    output: { valueSat: '5', height: 101, txIndex: 7 },
    graph: { capacitySat: '5', nodes: [seller, buyer], shortChannelId: '101x7x2' },
    otherChannelsBetween: false,
    probe: 'not-tried',
  })
  expect(calls).toEqual([])
})

test('a probe is sent through the channel of the outpoint', async () => {
  const { evidence, calls } = await gather({ output: confirmed })
  expect(calls).toEqual([{ via: seller, shortChannelId: '101x7x2', destination: buyer, amountMsat: 1000n }])
  expect(evidence.probe).toBe('reached')
})

test('a probe that fails or cannot be sent proves nothing, and gatherEvidence still returns', async () => {
  const failed = () => Promise.resolve({ reached: false, failedAt: 'seller', reason: 'UnknownNextPeer' } as const)
  expect((await gather({ output: confirmed, probe: failed })).evidence.probe).toBe('not-reached')
  expect((await gather({ output: confirmed, probe: () => Promise.reject(new Fault('gone')) })).evidence.probe).toBe('not-reached')
  await expect(gather({ output: confirmed, probe: () => Promise.reject(new TypeError('a bug')) })).rejects.toThrow('a bug')
})

test('a probe that the buyer holds proves nothing, and the other evidence counts', async () => {
  const { evidence } = await gather({ output: confirmed, probe: () => new Promise(() => undefined) }, {}, hasty)
  expect(evidence).toMatchObject({ output: { valueSat: '5', height: 101 }, probe: 'not-reached' })
})

test('no second probe is sent while the first is pending, and all callers get the answer of the first', async () => {
  let sent = 0
  const answer = Promise.withResolvers<ProbeOutcome>()
  const graph = {
    channel: () => Promise.resolve(undefined),
    between: () => Promise.resolve([]),
    probe: () => {
      sent++
      return answer.promise
    },
  }
  const chain = { sees: { mempool: true }, tip: () => Promise.resolve({ height: 103 }), output: () => Promise.resolve(confirmed) }
  // The fakes have only the methods that are called.
  const ports = (clock: Clock) => ({ lightning: { graph } as unknown as Lightning, chain: chain as unknown as Chain, clock })
  const query = {
    outpoint,
    terms: { sellerPubkey: seller, buyerPubkey: buyer },
    attestation: null,
    fromHeight: 100,
    probe: true,
  }
  expect((await gatherEvidence(ports(hasty), query)).probe).toBe('not-reached')
  const waiting = gatherEvidence(ports(patient), query)
  await new Promise((resolve) => setImmediate(resolve)) // The call now waits for the probe.
  answer.resolve({ reached: true })
  expect((await waiting).probe).toBe('reached')
  expect(sent).toBe(1)
  await gatherEvidence(ports(patient), query)
  expect(sent).toBe(2)
})

test('the evidence has the forwarding fees of the seller once it has announced them', async () => {
  const policy = { baseFeeMsat: 7n, feeRatePpm: 9, disabled: false }
  const graph = {
    ...announced,
    policies: [
      { ...policy, node: buyer },
      { ...policy, node: seller, feeRatePpm: 5 },
    ],
  }
  expect((await gather({ output: confirmed, graph })).evidence.graph).toMatchObject({
    sellerFees: { baseFeeMsat: '7', feeRatePpm: 5 },
  })
  expect((await gather({ output: confirmed, graph: announced })).evidence.graph).not.toHaveProperty('sellerFees')
})

test('no probe is sent for an output in the mempool, or if the query requests none', async () => {
  expect((await gather({ output: { ...confirmed, height: null, txIndex: null } })).evidence.probe).toBe('not-tried')
  expect((await gather({ output: confirmed }, { probe: false })).evidence.probe).toBe('not-tried')
})

test('the evidence shows another channel between the two nodes', async () => {
  const other = { ...announced, outpoint: `${'00'.repeat(32)}:0` }
  expect((await gather({ output: confirmed, between: [announced, other] })).evidence.otherChannelsBetween).toBe(true)
})

test('other channels between the two nodes are requested only before a probe', async () => {
  expect((await gather({ output: confirmed }, { probe: false })).lists).toBe(0)
  expect((await gather({ output: confirmed, graph: announced })).lists).toBe(0)
  expect((await gather({})).lists).toBe(0)
  expect((await gather({ output: confirmed })).lists).toBe(1)
})

test('the evidence contains the key that signed the attestation', async () => {
  const { evidence, calls } = await gather({ output: confirmed, graph: announced, signer: seller.toUpperCase() }, { attestation })
  expect(evidence).toMatchObject({ attestation, attestationSigner: seller })
  expect(calls[0]).toContain('penstock channel attestation 1')
  expect((await gather({ graph: announced }, { attestation })).evidence.attestationSigner).toBeNull()
})

test('no probe is sent if another channel could carry it', async () => {
  const other = { ...announced, outpoint: `${'ee'.repeat(32)}:0` }
  const { evidence, calls } = await gather({ output: confirmed, between: [other] })
  expect(evidence).toMatchObject({ otherChannelsBetween: true, probe: 'not-tried' })
  expect(calls).toEqual([])
})

test('a spend is unknown, and not missing, if the chain source could read no mempool', async () => {
  const outputOf = async (seesMempool: boolean, output: ChainOutput) => {
    const chain = { sees: { mempool: seesMempool }, tip: async () => ({ height: 103 }), output: async () => output }
    const graph = { channel: async () => undefined, between: async () => [] }
    // The fakes have only the methods that are called. Without a probe, nothing waits.
    const ports = { lightning: { graph } as unknown as Lightning, chain: chain as unknown as Chain, clock: {} as Clock }
    const terms = { sellerPubkey: '', buyerPubkey: '' }
    const query = { outpoint: output.outpoint, terms, attestation: null, fromHeight: 0, probe: false }
    return (await gatherEvidence(ports, query)).output
  }
  expect(await outputOf(true, confirmed)).not.toHaveProperty('isSpendUnknown')
  expect(await outputOf(false, confirmed)).toMatchObject({ spentBy: null, isSpendUnknown: true })
  expect(await outputOf(true, { ...confirmed, isSpendUnknown: true })).toMatchObject({ isSpendUnknown: true })
})
