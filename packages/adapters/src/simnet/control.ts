import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { signMessage } from '@penstock/bitcoin/message-signature.ts'
import { readSimnetBalances, type SimnetBalances } from './balances.ts'
import { acceptTransaction, dropTransaction } from './chain.ts'
import { findOpenChannels, channelsTopicOf, closeChannel, otherEndOf, channelStateOf } from './channels/channels.ts'
import {
  type SimOpenRequest,
  prepareFunding,
  publishFunding,
  rebroadcastFunding,
  setRefusesOpenings,
} from './channels/funding.ts'
import { setHoldsProbes } from './channels/graph.ts'
import { createInvoice, findInvoice, expireInvoices } from './payments/invoices.ts'
import { mineBlocks, reorganiseChain } from './mining.ts'
import { listAllNodes, NODE_BEHAVIOURS, requireNode, rememberPeers, type SimNodeRole, secretKeyOf } from './nodes.ts'
import { expireParts } from './payments/mpp-parts.ts'
import { findAnyPayment, startPayment } from './payments/payments.ts'
import type { SimnetStore } from './store.ts'
import { readConfirmedSat } from './wallet.ts'

/** Amounts are decimal strings of sat, as the command line prints them. */
export type SimNodeInfo = {
  readonly alias: string
  readonly role: SimNodeRole
  readonly pubkey: string
  readonly uri: string
  readonly balance_sat: string
}
type PayOptions = { readonly maxFeeMsat?: bigint; readonly amountMsat?: bigint; readonly totalMsat?: bigint }
type OpenOptions = { readonly isPrivate?: boolean; readonly isTaproot?: boolean }
export type SimPaymentState = 'IN_FLIGHT' | 'SUCCEEDED' | 'FAILED'
export type SimChannel = {
  readonly outpoint: string
  readonly capacity_sat: string
  readonly peer: string
  readonly private: boolean
}
export type SimInvoiceState = 'OPEN' | 'ACCEPTED' | 'SETTLED' | 'CANCELED'

/** Controls the simulated network for `penstock sim`, demonstrations and tests. An unknown alias throws an Error. */
export type SimControl = {
  nodes(): readonly SimNodeInfo[]
  /**
   * Returns once the payment is held, settled or failed. `amountMsat` replaces the amount of the invoice. With `totalMsat` the
   * payment is one part of that total.
   */
  pay(
    fromAlias: string,
    invoice: string,
    options?: PayOptions,
  ): { readonly state: SimPaymentState; readonly payment_hash: string }
  /** `preimage`: the payer's proof of its payment, in hex; null before the payment has succeeded. */
  payment(hash: string): { readonly state: SimPaymentState; readonly payee: string; readonly preimage: string | null } | undefined
  /** The node's channels that are published and not closed, even if the node reports others to its owner. */
  channels(alias: string): readonly SimChannel[]
  /** @returns the new height */
  mine(count: number): number
  /** Replaces the last blocks. With `remine`, the first new block contains all replaced transactions. @returns the new height */
  reorg(depth: number, options?: { readonly remine?: boolean }): number
  /** @throws Error that lists the known behaviours */
  behave(alias: string, behaviour: string): void
  setOnline(alias: string, online: boolean): void
  /** Makes the node hold the HTLCs of probes that reach it, instead of failing them at once. */
  holdProbes(alias: string, held: boolean): void
  /** Makes the node refuse every channel that another node opens to it. */
  refuseOpenings(alias: string, refused: boolean): void
  sign(alias: string, text: string): { readonly signature: string }
  invoice(alias: string, sats: bigint, expirySeconds: number): { readonly invoice: string; readonly payment_hash: string }
  invoiceStatus(alias: string, hash: string): { readonly state: SimInvoiceState } | undefined
  /** Opens and publishes a channel at once, like a manual opening. `isTaproot` requires `isPrivate`. @throws OpenRefused */
  open(alias: string, peerPubkey: string, sats: bigint, options?: OpenOptions): { readonly outpoint: string }
  /** @param options `by` is the alias of the closing node; the opener by default */
  close(outpoint: string, options?: { readonly force?: boolean; readonly by?: string }): { readonly txid: string }
  /** Replaces an unconfirmed transaction by one that returns its coins to their owner. Dependent transactions are dropped. */
  doubleSpend(txid: string): { readonly txid: string }
  /** Removes an unconfirmed transaction and its descendants from every mempool and from the sending wallet. */
  forget(txid: string): void
  /** Broadcasts a published funding again, as any node with a copy could. @throws Fault if its coins are spent */
  rebroadcast(outpoint: string): void
  /** Sets the minimum fee rate of transactions in blocks, in sat per virtual byte; 0 admits all of them. */
  feeFloor(satPerVbyte: number): void
  balances(): SimnetBalances
}

export function createSimControl(store: SimnetStore): SimControl {
  return {
    nodes: () =>
      listAllNodes(store).map(({ alias, role, pubkey, socket }) => ({
        alias,
        role,
        pubkey,
        uri: `${pubkey}@${socket}`,
        balance_sat: `${readConfirmedSat(store, pubkey)}`,
      })),
    pay: (alias, request, options) => payNow(store, alias, request, options),
    payment: (hash) => findPayment(store, hash),
    channels: (alias) => listVisibleChannels(store, requireNode(store, alias).pubkey),
    mine: (count) => mineBlocks(store, count),
    reorg: (depth, options) => reorganiseChain(store, depth, options),
    behave: (alias, behaviour) => {
      if (!NODE_BEHAVIOURS.some((known) => known === behaviour)) throw new Error(`a node behaves ${NODE_BEHAVIOURS.join(', ')}`)
      updateNode(store, alias, 'behaviour', behaviour)
    },
    setOnline: (alias, online) => updateNode(store, alias, 'online', online ? 1 : 0),
    refuseOpenings: (alias, refused) => store.write(() => setRefusesOpenings(store, requireNode(store, alias).pubkey, refused)),
    holdProbes: (alias, held) => store.write(() => setHoldsProbes(store, requireNode(store, alias).pubkey, held)),
    sign: (alias, text) => ({ signature: signMessage(secretKeyOf(store, requireNode(store, alias).alias), text) }),
    invoice: (alias, sats, expirySeconds) =>
      store.write(() => {
        const { request, paymentHash } = createInvoice(store, requireNode(store, alias), {
          amountMsat: sats * 1000n,
          expirySeconds,
          description: `invoice of ${alias}`,
        })
        return { invoice: request, payment_hash: paymentHash }
      }),
    invoiceStatus: (alias, hash) =>
      store.write(() => {
        expireInvoices(store)
        const invoice = findInvoice(store, requireNode(store, alias).pubkey, hash)
        return invoice && { state: INVOICE_STATES[invoice.state] }
      }),
    open: (alias, peer, capacitySat, options) =>
      store.write(() => openNow(store, alias, { peer, capacitySat, isPrivate: false, feeRateSatPerVbyte: 1, ...options })),
    close: (outpoint, { force = false, by } = {}) =>
      store.write(() => {
        const closer = by === undefined ? {} : { by: requireNode(store, by).pubkey }
        return { txid: closeChannel(store, outpoint, { force, feeSat: 200n, ...closer }) }
      }),
    doubleSpend: (txid) => store.write(() => ({ txid: doubleSpend(store, txid) })),
    forget: (txid) =>
      store.write(() => {
        if (store.get('SELECT 1 FROM txs WHERE txid = ? AND height IS NULL', txid)) dropTransaction(store, txid)
      }),
    rebroadcast: (outpoint) => store.write(() => rebroadcastFunding(store, outpoint)),
    feeFloor: (rate) => void store.write(() => store.run("INSERT OR REPLACE INTO meta VALUES ('fee_floor', ?)", `${rate}`)),
    balances: () => readSimnetBalances(store),
  }
}

/** Updates a node, and notifies the node and its channel peers. */
function updateNode(store: SimnetStore, alias: string, column: 'behaviour' | 'online', value: string | number): void {
  store.write(() => {
    const { pubkey } = requireNode(store, alias)
    store.run(`UPDATE nodes SET ${column} = ? WHERE pubkey = ?`, value, pubkey)
    expireParts(store, store.clock.now())
    const peers = findOpenChannels(store, pubkey).map((channel) => otherEndOf(channel, pubkey))
    for (const node of new Set([pubkey, ...peers])) store.notify(channelsTopicOf(node))
  })
}

const PAYMENT_STATES = { 'in-flight': 'IN_FLIGHT', succeeded: 'SUCCEEDED', failed: 'FAILED' } as const
const INVOICE_STATES = { open: 'OPEN', held: 'ACCEPTED', settled: 'SETTLED', cancelled: 'CANCELED' } as const

function findPayment(store: SimnetStore, hash: string): ReturnType<SimControl['payment']> {
  const payment = findAnyPayment(store, hash)
  if (!payment) return undefined
  const { outcome, payee } = payment
  const preimage = outcome.state === 'succeeded' ? outcome.preimage : null
  return { state: PAYMENT_STATES[outcome.state], payee, preimage }
}

function payNow(store: SimnetStore, alias: string, request: string, { totalMsat, ...options }: PayOptions = {}) {
  const invoice = decodePaymentRequest(request)
  if (!invoice) throw new Error('not a BOLT 11 invoice')
  const amountMsat = options.amountMsat ?? invoice.amountMsat ?? 0n
  // A common fee limit of wallets: 1 %, plus 5 sat for one hop of a small amount.
  const maxFeeMsat = options.maxFeeMsat ?? amountMsat / 100n + 5000n
  const outcome = store.write(() =>
    startPayment(store, requireNode(store, alias).pubkey, request, {
      maxFeeMsat,
      amountMsat,
      ...(totalMsat !== undefined && { totalMsat }),
    }),
  )
  return { state: PAYMENT_STATES[outcome.state], payment_hash: invoice.paymentHash }
}

function listVisibleChannels(store: SimnetStore, pubkey: string): SimChannel[] {
  return findOpenChannels(store, pubkey)
    .filter((channel) => channel.state === 'published' && channel.is_seen === 1n && channelStateOf(channel) !== 'gone')
    .map((channel) => ({
      outpoint: channel.outpoint,
      capacity_sat: `${channel.capacity_sat}`,
      peer: otherEndOf(channel, pubkey),
      private: channel.is_private === 1n,
    }))
}

function openNow(store: SimnetStore, alias: string, request: SimOpenRequest): { outpoint: string } {
  const node = requireNode(store, alias)
  rememberPeers(store, node.pubkey, request.peer)
  const funding = prepareFunding(store, node, request)
  publishFunding(store, node, funding)
  return { outpoint: funding.outpoint }
}

function doubleSpend(store: SimnetStore, txid: string): string {
  const inputs = store.all<{ txid: string; vout: bigint; value_sat: bigint; script: string }>(
    'SELECT txid, vout, value_sat, script FROM outputs WHERE spent_by = ? AND owner IS NOT NULL',
    txid,
  )
  const [first] = inputs
  if (!first || store.get('SELECT 1 FROM txs WHERE txid = ? AND height IS NOT NULL', txid))
    throw new Error(`${txid} is no wallet's payment that waits in the mempool`)
  dropTransaction(store, txid)
  const feeSat = 500n
  const valueSat = inputs.reduce((sum, { value_sat }) => sum + value_sat, 0n) - feeSat
  return acceptTransaction(
    store,
    {
      inputs: inputs.map((input) => ({ txid: input.txid, vout: Number(input.vout) })),
      outputs: [{ valueSat, script: first.script }],
    },
    { feeSat, vsize: 111 },
  )
}
