import { Fault } from '@penstock/kernel/result.ts'
import { given } from '@penstock/testkit/given.ts'
import { expect, test } from 'vitest'
import { MempoolUnseen } from '@penstock/ports/chain.ts'
import type { Invoice } from '@penstock/ports/lightning.ts'
import { enrich } from './enrich.ts'
import {
  E,
  HASH,
  held,
  HELD_AT,
  isNoted,
  node,
  noted,
  nodeView,
  NOW,
  ORDER,
  stranger,
  terms,
  toHeld,
  unseen,
} from './samples.contract.ts'
import { settlement } from './settlement.ts'

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
          height: change.nodeHeight ?? held.height,
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
      tip: () => Promise.resolve({ height: held.height, time: NOW - 10_000, synced: true }),
      output: (_: string, from: number) => Promise.resolve(change.output && { height: change.output.height - from }),
    },
    keyring: {
      paymentHashOf: (id: string, issue: number) => ({ keyId: 'k1', paymentHash: id === ORDER && issue === 1 ? HASH : '' }),
    },
    clock: { now: () => NOW, monotonicMs: () => NOW, sleep: () => new Promise(() => undefined) },
    config: { staleTipSeconds: 7200, routingFeeLimitPpm: 5000 },
    network: change.network ?? 'mainnet',
  }
  // Only what enrichment asks is there.
  return { id: ORDER, at: NOW, ports } as unknown as Parameters<typeof enrich.IssueHold>[1]
}

test('an invoice is wanted: what the node, the chain and the keyring say', async () => {
  expect(await enrich.IssueHold(terms, about())).toEqual(nodeView)
  expect(await enrich.IssueHold(terms, about({ synced: false }))).toEqual({ ...nodeView, synced: false })
  // Two hours without a block: lnd calls itself unsynced then.
  const regtest = { ...nodeView, staleTipSeconds: 0 }
  for (const synced of [true, false])
    expect(await enrich.IssueHold(terms, about({ network: 'regtest', synced }))).toEqual(regtest)
})

test('an invoice ends: whether it was paid in its last moment', async () => {
  const at = { paymentHash: HASH }
  expect(await enrich.ExpireInvoice(at, about())).toEqual({ held: null, node })
  expect(await enrich.ExpireInvoice(at, about({ invoice: invoice('open') }))).toEqual({ held: null, node })
  expect(await enrich.ExpireInvoice(at, about({ invoice: invoice('held') }))).toEqual({ held, node })
})

test('an outpoint is named: the height, and where the transaction is already, looked for from below the hold', async () => {
  expect(await enrich.NoteOutpoint(noted, about())).toEqual({ height: held.height, ...unseen })
  const output = { height: 900 }
  const seen = { ...unseen, height: held.height, confirmedAtHeight: 900 - (HELD_AT - 6) }
  expect(await enrich.NoteOutpoint(noted, about({ output, seesMempool: false }))).toEqual({ ...seen, seesMempool: false })
  const times = (since: number | null) => ({ ...seen, enteredMempoolAt: NOW, heldSince: { [HASH]: since } })
  const parts = (...accepted: readonly (number | null)[]) => ({
    ...invoice('held'),
    htlcs: accepted.map((acceptedAt) => ({ ...htlc, acceptedAt })),
  })
  expect(await enrich.NoteOutpoint(noted, about({ output, invoice: parts(5, 7, 6) }))).toEqual(times(7))
  expect(await enrich.NoteOutpoint(noted, about({ output, invoice: parts(5, null) }))).toEqual(times(null))
})

test('an outpoint is named: blocks that are left are counted by the higher of the heights of chain and node', async () => {
  const seen = async (nodeHeight: number) => (await enrich.NoteOutpoint(noted, about({ nodeHeight }))).height
  expect(await seen(held.height + 3)).toBe(held.height + 3)
  expect(await seen(held.height - 3)).toBe(held.height)
  const last = { ...noted, ...(await enrich.NoteOutpoint(noted, about({ nodeHeight: E - 42 }))) }
  const late = { ...noted, ...(await enrich.NoteOutpoint(noted, about({ nodeHeight: E - 41 }))) }
  given(settlement, ...toHeld)
    .when({ type: 'NoteOutpoint', data: last })
    .then(isNoted)
  expect(given(settlement, ...toHeld).when({ type: 'NoteOutpoint', data: late }).decision).toMatchObject({
    facts: [{ type: 'OutpointNoteRefused', data: { tooLate: true } }],
  })
})

test('a payment that came in the last moment of its invoice is held at the higher of both heights', async () => {
  const at = { paymentHash: HASH }
  const moment = await enrich.ExpireInvoice(at, about({ invoice: invoice('held'), nodeHeight: held.height + 2 }))
  expect(moment.held?.height).toBe(held.height + 2)
})

test('an outpoint is named while nobody sees the mempool: no block has it, which is enough to know', async () => {
  const { ports, ...rest } = about()
  const blind = (error: Error) => ({
    ...rest,
    ports: { ...ports, chain: { ...ports.chain, output: () => Promise.reject(error) } },
  })
  expect(await enrich.NoteOutpoint(noted, blind(new MempoolUnseen('x')))).toEqual({ height: held.height, ...unseen })
  await expect(enrich.NoteOutpoint(noted, blind(new Fault('x')))).rejects.toThrow('x')
})

test('network and the fee limit', async () => {
  expect(await enrich.GivePayoutInvoice({}, about({ network: 'signet' }))).toEqual({ network: 'signet' })
  for (const type of ['Guard', 'RecordPayhash', 'RecordPayout', 'RetryPayout'] as const)
    expect(await enrich[type]({}, about())).toEqual({ routingFeeLimitPpm: 5000 })
})
