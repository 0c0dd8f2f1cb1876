import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import { MempoolUnseen } from '@penstock/ports/chain.ts'
import type { Invoice } from '@penstock/ports/lightning.ts'
import { enrich } from './enrich.ts'
import { HASH, held, HELD_AT, NOW, node, noted, nodeView, ORDER, stranger, terms } from './samples.contract.ts'

const htlc = { amountMsat: 5_000_000n, expiryHeight: 1000, peer: stranger, state: 'held' } as const
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
  } = {},
) => {
  const ports = {
    lightning: {
      info: () => Promise.resolve({ pubkey: node, synced: change.synced ?? true, holdExpiryDelta: 12 }),
      wallet: { inboundSat: () => Promise.resolve(1_000_000n) },
      holds: { find: () => Promise.resolve(change.invoice) },
    },
    chain: {
      tip: () => Promise.resolve({ height: held.height, time: NOW - 10_000, synced: true }),
      output: (_: string, from: number) => Promise.resolve(change.output && { height: change.output.height - from }),
    },
    keyring: {
      paymentHashOf: (id: string, issue: number) => ({ keyId: 'k1', paymentHash: id === ORDER && issue === 1 ? HASH : '' }),
    },
    clock: { now: () => NOW, sleep: () => new Promise(() => undefined) },
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
  expect(await enrich.NoteOutpoint(noted, about())).toEqual({ height: held.height, confirmedAtHeight: null })
  expect(await enrich.NoteOutpoint(noted, about({ output: { height: 900 } }))).toEqual({
    height: held.height,
    confirmedAtHeight: 900 - (HELD_AT - 6),
  })
})

test('an outpoint is named while nobody sees the mempool: no block has it, which is enough to know', async () => {
  const { ports, ...rest } = about()
  const blind = (error: Error) => ({
    ...rest,
    ports: { ...ports, chain: { ...ports.chain, output: () => Promise.reject(error) } },
  })
  expect(await enrich.NoteOutpoint(noted, blind(new MempoolUnseen('x')))).toEqual({
    height: held.height,
    confirmedAtHeight: null,
  })
  await expect(enrich.NoteOutpoint(noted, blind(new Fault('x')))).rejects.toThrow('x')
})

test('network and the fee limit', async () => {
  expect(await enrich.GivePayoutInvoice({}, about({ network: 'signet' }))).toEqual({ network: 'signet' })
  for (const type of ['Guard', 'RecordPayhash', 'RecordPayout', 'RetryPayout'] as const)
    expect(await enrich[type]({}, about())).toEqual({ routingFeeLimitPpm: 5000 })
})
