import { Fault } from '@penstock/kernel/result.ts'
import { given } from '@penstock/testkit/given.ts'
import { expect, test } from 'vitest'
import { MempoolUnavailable } from '@penstock/ports/chain.ts'
import type { Invoice } from '@penstock/ports/lightning.ts'
import { enrich } from './enrich.ts'
import {
  E,
  HASH,
  heldPayment,
  HELD_AT,
  outpointRegisteredFact,
  node,
  registeredOutpoint,
  sampleNodeView,
  NOW,
  ORDER_ID,
  stranger,
  sampleHoldTerms,
  heldHistory,
  unseenOutpoint,
} from './samples.fixture.ts'
import { settlementDecider } from './settlement.decide.ts'

const htlc = { amountMsat: 5_000_000n, expiryHeight: 1000, peer: stranger, state: 'held', acceptedAt: 1_000 } as const
const invoice = (state: Invoice['state']): Invoice => ({
  paymentHash: HASH,
  request: '',
  amountMsat: 5_000_000n,
  state,
  htlcs: [htlc],
})

const about = (
  change: {
    readonly synced?: boolean
    readonly invoice?: Invoice
    readonly output?: { height: number }
    readonly network?: string
    readonly nodeHeight?: number
    readonly seesMempool?: boolean
  } = {},
) => {
  const ports = {
    lightning: {
      info: () =>
        Promise.resolve({
          pubkey: node,
          synced: change.synced ?? true,
          height: change.nodeHeight ?? heldPayment.height,
          holdExpiryDelta: 12,
        }),
      wallet: { inboundSat: () => Promise.resolve(1_000_000n) },
      holds: {
        find: () => Promise.resolve(change.invoice),
        held: () => Promise.resolve(change.invoice ? [change.invoice] : []),
      },
    },
    chain: {
      sees: { mempool: change.seesMempool ?? true },
      enteredMempoolAt: () => Promise.resolve(NOW),
      tip: () => Promise.resolve({ height: heldPayment.height, time: NOW - 10_000, synced: true }),
      output: (_: string, from: number) => Promise.resolve(change.output && { height: change.output.height - from }),
    },
    keyring: {
      paymentHashOf: (id: string, issue: number) => ({ keyId: 'k1', paymentHash: id === ORDER_ID && issue === 1 ? HASH : '' }),
    },
    clock: { now: () => NOW, monotonicMs: () => NOW, sleep: () => new Promise(() => undefined) },
    config: { staleTipSeconds: 7200, routingFeeLimitPpm: 5000 },
    network: change.network ?? 'mainnet',
  }
  // The fake contains only what enrichment reads.
  return { id: ORDER_ID, at: NOW, ports } as unknown as Parameters<typeof enrich.IssueHold>[1]
}

test('IssueHold gets the data of the node, the chain and the keyring', async () => {
  expect(await enrich.IssueHold(sampleHoldTerms, about())).toEqual(sampleNodeView)
  expect(await enrich.IssueHold(sampleHoldTerms, about({ synced: false }))).toEqual({ ...sampleNodeView, synced: false })
  // After two hours without a block, lnd reports itself as unsynced.
  const regtest = { ...sampleNodeView, staleTipSeconds: 0 }
  for (const synced of [true, false])
    expect(await enrich.IssueHold(sampleHoldTerms, about({ network: 'regtest', synced }))).toEqual(regtest)
})

test('ExpireInvoice gets a payment that arrived just before the expiry', async () => {
  const at = { paymentHash: HASH }
  expect(await enrich.ExpireInvoice(at, about())).toEqual({ held: null, node })
  expect(await enrich.ExpireInvoice(at, about({ invoice: invoice('open') }))).toEqual({ held: null, node })
  expect(await enrich.ExpireInvoice(at, about({ invoice: invoice('held') }))).toEqual({ held: heldPayment, node })
})

test('RegisterOutpoint gets the tip height, and the block of the transaction even if it is below the hold', async () => {
  expect(await enrich.RegisterOutpoint(registeredOutpoint, about())).toEqual({ height: heldPayment.height, ...unseenOutpoint })
  const output = { height: 900 }
  const seen = { ...unseenOutpoint, height: heldPayment.height, confirmedAtHeight: 900 - (HELD_AT - 6) }
  expect(await enrich.RegisterOutpoint(registeredOutpoint, about({ output, seesMempool: false }))).toEqual({
    ...seen,
    seesMempool: false,
  })
  const times = (since: number | null) => ({ ...seen, enteredMempoolAt: NOW, heldSince: { [HASH]: since } })
  const parts = (...accepted: readonly (number | null)[]) => ({
    ...invoice('held'),
    htlcs: accepted.map((acceptedAt) => ({ ...htlc, acceptedAt })),
  })
  expect(await enrich.RegisterOutpoint(registeredOutpoint, about({ output, invoice: parts(5, 7, 6) }))).toEqual(times(7))
  expect(await enrich.RegisterOutpoint(registeredOutpoint, about({ output, invoice: parts(5, null) }))).toEqual(times(null))
})

test('RegisterOutpoint gets the higher of the heights of chain and node', async () => {
  const seen = async (nodeHeight: number) => (await enrich.RegisterOutpoint(registeredOutpoint, about({ nodeHeight }))).height
  expect(await seen(heldPayment.height + 3)).toBe(heldPayment.height + 3)
  expect(await seen(heldPayment.height - 3)).toBe(heldPayment.height)
  const last = { ...registeredOutpoint, ...(await enrich.RegisterOutpoint(registeredOutpoint, about({ nodeHeight: E - 42 }))) }
  const late = { ...registeredOutpoint, ...(await enrich.RegisterOutpoint(registeredOutpoint, about({ nodeHeight: E - 41 }))) }
  given(settlementDecider, ...heldHistory)
    .when({ type: 'RegisterOutpoint', data: last })
    .then(outpointRegisteredFact)
  expect(given(settlementDecider, ...heldHistory).when({ type: 'RegisterOutpoint', data: late }).decision).toMatchObject({
    facts: [{ type: 'OutpointRegistrationRefused', data: { tooLate: true } }],
  })
})

test('ExpireInvoice gets the higher of both heights for a payment that arrived just before the expiry', async () => {
  const at = { paymentHash: HASH }
  const moment = await enrich.ExpireInvoice(at, about({ invoice: invoice('held'), nodeHeight: heldPayment.height + 2 }))
  expect(moment.held?.height).toBe(heldPayment.height + 2)
})

test('RegisterOutpoint needs no mempool to see that no block has the transaction', async () => {
  const { ports, ...rest } = about()
  const blind = (error: Error) => ({
    ...rest,
    ports: { ...ports, chain: { ...ports.chain, output: () => Promise.reject(error) } },
  })
  expect(await enrich.RegisterOutpoint(registeredOutpoint, blind(new MempoolUnavailable('x')))).toEqual({
    height: heldPayment.height,
    ...unseenOutpoint,
  })
  await expect(enrich.RegisterOutpoint(registeredOutpoint, blind(new Fault('x')))).rejects.toThrow('x')
})

test('invoice commands get the network, and payout commands the fee limit', async () => {
  expect(await enrich.SubmitPayoutInvoice({}, about({ network: 'signet' }))).toEqual({ network: 'signet' })
  for (const type of ['Guard', 'RecordPayhash', 'RetryPayout'] as const)
    expect(await enrich[type]({}, about())).toEqual({ routingFeeLimitPpm: 5000 })
  const paid = { state: 'succeeded', attempt: 1, feeMsat: '0' } as const
  expect(await enrich.RecordPayout(paid, about())).toEqual({ routingFeeLimitPpm: 5000 })
  expect(await enrich.RecordPayout({ ...paid, paymentHash: HASH }, about())).toMatchObject({
    height: expect.any(Number) as number,
  })
})
