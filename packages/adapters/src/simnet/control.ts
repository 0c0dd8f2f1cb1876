import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { sign } from '@penstock/bitcoin/message-signature.ts'
import { balancesOf, type Balances } from './balances.ts'
import { acceptTransaction, dropTransaction } from './chain.ts'
import { channelsOf, channelsTopic, closeChannel, otherEnd, stateOf } from './channels.ts'
import { type Opening, prepareFunding, publishFunding, sendAgain, setRefusesOpenings } from './funding.ts'
import { setHoldsProbes } from './graph.ts'
import { createInvoice, findInvoice, lapseInvoices } from './invoices.ts'
import { mine, reorganise } from './mining.ts'
import { allNodes, BEHAVIOURS, nodeCalled, rememberPeers, type Role, secretKeyOf } from './nodes.ts'
import { giveBackParts } from './parts.ts'
import { findAnyPayment, startPayment } from './payments.ts'
import type { Net } from './store.ts'
import { confirmedSat } from './wallet.ts'

/** Amounts are decimal strings of sat, as they leave the command line. */
export type SimNode = {
  readonly alias: string
  readonly role: Role
  readonly pubkey: string
  readonly uri: string
  readonly balance_sat: string
}
type Sending = { readonly maxFeeMsat?: bigint; readonly amountMsat?: bigint; readonly totalMsat?: bigint }
type ByHand = { readonly isPrivate?: boolean; readonly isTaproot?: boolean }
export type SimPaymentState = 'IN_FLIGHT' | 'SUCCEEDED' | 'FAILED'
export type SimChannel = {
  readonly outpoint: string
  readonly capacity_sat: string
  readonly peer: string
  readonly private: boolean
}
export type SimInvoiceState = 'OPEN' | 'ACCEPTED' | 'SETTLED' | 'CANCELED'

/** The hand of whoever plays the rest of the world: `penstock sim`, demonstrations, tests. Every alias is checked. */
export type SimControl = {
  nodes(): readonly SimNode[]
  /**
   * Returns once the payment is held, settled or failed. `amountMsat`: what is sent instead of the invoice's amount; with
   * `totalMsat` it is one part of so much.
   */
  pay(fromAlias: string, invoice: string, options?: Sending): { readonly state: SimPaymentState; readonly payment_hash: string }
  payment(hash: string): { readonly state: SimPaymentState; readonly payee: string } | undefined
  /** What that node sees: channels whose funding was seen and that are not closed, whatever their owner is told. */
  channels(alias: string): readonly SimChannel[]
  /** @returns the new height */
  mine(count: number): number
  /** `remine`: the new branch has the transactions of the old one in its first block, maybe lower than they were. */
  reorg(depth: number, options?: { readonly remine?: boolean }): number
  /** @throws Error that names the behaviours there are */
  behave(alias: string, how: string): void
  setOnline(alias: string, online: boolean): void
  /** Whether that node keeps the HTLCs of probes that reach it, instead of failing them at once. */
  holdProbes(alias: string, held: boolean): void
  /** Whether that node refuses every channel that somebody wants to open to it. */
  refuseOpenings(alias: string, refused: boolean): void
  sign(alias: string, text: string): { readonly signature: string }
  invoice(alias: string, sats: bigint, expirySeconds: number): { readonly invoice: string; readonly payment_hash: string }
  invoiceStatus(alias: string, hash: string): { readonly state: SimInvoiceState } | undefined
  /** Opens and publishes at once, as a person at the node would. `isTaproot`: with `isPrivate` alone. @throws OpenRefused */
  open(alias: string, peerPubkey: string, sats: bigint, options?: ByHand): { readonly outpoint: string }
  /** @param options `by`: the alias of the end that does it; the opener unless told */
  close(outpoint: string, options?: { readonly force?: boolean; readonly by?: string }): { readonly txid: string }
  /** Replaces an unconfirmed transaction by one that gives its coins back to its owner; what depended on it is gone. */
  doubleSpend(txid: string): { readonly txid: string }
  /** Every mempool forgets an unconfirmed transaction, and whatever depended on it; and so does the wallet that sent it. */
  forget(txid: string): void
  /** Somebody who still has a funding that was published sends it once more. @throws Fault where its coins are spent by now */
  rebroadcast(outpoint: string): void
  /** From now on blocks take nothing that pays less than so many satoshis per virtual byte; 0: everything. */
  feeFloor(satPerVbyte: number): void
  balances(): Balances
}

export function controlOf(net: Net): SimControl {
  return {
    nodes: () =>
      allNodes(net).map(({ alias, role, pubkey, socket }) => ({
        alias,
        role,
        pubkey,
        uri: `${pubkey}@${socket}`,
        balance_sat: `${confirmedSat(net, pubkey)}`,
      })),
    pay: (alias, request, options) => payNow(net, alias, request, options),
    payment: (hash) => {
      const payment = findAnyPayment(net, hash)
      return payment && { state: PAYMENT_STATES[payment.outcome.state], payee: payment.payee }
    },
    channels: (alias) => visibleChannels(net, nodeCalled(net, alias).pubkey),
    mine: (count) => mine(net, count),
    reorg: (depth, options) => reorganise(net, depth, options),
    behave: (alias, how) => {
      if (!BEHAVIOURS.some((known) => known === how)) throw new Error(`a node behaves ${BEHAVIOURS.join(', ')}`)
      changeNode(net, alias, 'behaviour', how)
    },
    setOnline: (alias, online) => changeNode(net, alias, 'online', online ? 1 : 0),
    refuseOpenings: (alias, refused) => net.write(() => setRefusesOpenings(net, nodeCalled(net, alias).pubkey, refused)),
    holdProbes: (alias, held) => net.write(() => setHoldsProbes(net, nodeCalled(net, alias).pubkey, held)),
    sign: (alias, text) => ({ signature: sign(secretKeyOf(net, nodeCalled(net, alias).alias), text) }),
    invoice: (alias, sats, expirySeconds) =>
      net.write(() => {
        const { request, paymentHash } = createInvoice(net, nodeCalled(net, alias), {
          amountMsat: sats * 1000n,
          expirySeconds,
          description: `invoice of ${alias}`,
        })
        return { invoice: request, payment_hash: paymentHash }
      }),
    invoiceStatus: (alias, hash) =>
      net.write(() => {
        lapseInvoices(net)
        const invoice = findInvoice(net, nodeCalled(net, alias).pubkey, hash)
        return invoice && { state: INVOICE_STATES[invoice.state] }
      }),
    open: (alias, peer, capacitySat, options) =>
      net.write(() => openNow(net, alias, { peer, capacitySat, isPrivate: false, feeRateSatPerVbyte: 1, ...options })),
    close: (outpoint, { force = false, by } = {}) =>
      net.write(() => {
        const closer = by === undefined ? {} : { by: nodeCalled(net, by).pubkey }
        return { txid: closeChannel(net, outpoint, { force, feeSat: 200n, ...closer }) }
      }),
    doubleSpend: (txid) => net.write(() => ({ txid: doubleSpend(net, txid) })),
    forget: (txid) =>
      net.write(() => {
        if (net.get('SELECT 1 FROM txs WHERE txid = ? AND height IS NULL', txid)) dropTransaction(net, txid)
      }),
    rebroadcast: (outpoint) => net.write(() => sendAgain(net, outpoint)),
    feeFloor: (rate) => void net.write(() => net.run("INSERT OR REPLACE INTO meta VALUES ('fee_floor', ?)", `${rate}`)),
    balances: () => balancesOf(net),
  }
}

/** Others see it by the channels that they have with this one. */
function changeNode(net: Net, alias: string, column: 'behaviour' | 'online', value: string | number): void {
  net.write(() => {
    const { pubkey } = nodeCalled(net, alias)
    net.run(`UPDATE nodes SET ${column} = ? WHERE pubkey = ?`, value, pubkey)
    giveBackParts(net, net.clock.now())
    const others = channelsOf(net, pubkey).map((channel) => otherEnd(channel, pubkey))
    for (const node of new Set([pubkey, ...others])) net.touch(channelsTopic(node))
  })
}

const PAYMENT_STATES = { 'in-flight': 'IN_FLIGHT', succeeded: 'SUCCEEDED', failed: 'FAILED' } as const
const INVOICE_STATES = { open: 'OPEN', held: 'ACCEPTED', settled: 'SETTLED', cancelled: 'CANCELED' } as const

function payNow(net: Net, alias: string, request: string, { totalMsat, ...options }: Sending = {}) {
  const invoice = decodePaymentRequest(request)
  if (!invoice) throw new Error('not a BOLT 11 invoice')
  const amountMsat = options.amountMsat ?? invoice.amountMsat ?? 0n
  // What wallets commonly allow: 1 %, and enough for one hop on small amounts.
  const maxFeeMsat = options.maxFeeMsat ?? amountMsat / 100n + 5000n
  const outcome = net.write(() =>
    startPayment(net, nodeCalled(net, alias).pubkey, request, {
      maxFeeMsat,
      amountMsat,
      ...(totalMsat !== undefined && { totalMsat }),
    }),
  )
  return { state: PAYMENT_STATES[outcome.state], payment_hash: invoice.paymentHash }
}

function visibleChannels(net: Net, pubkey: string): SimChannel[] {
  return channelsOf(net, pubkey)
    .filter((channel) => channel.state === 'published' && channel.is_seen === 1n && stateOf(channel) !== 'gone')
    .map((channel) => ({
      outpoint: channel.outpoint,
      capacity_sat: `${channel.capacity_sat}`,
      peer: otherEnd(channel, pubkey),
      private: channel.is_private === 1n,
    }))
}

function openNow(net: Net, alias: string, request: Opening): { outpoint: string } {
  const node = nodeCalled(net, alias)
  rememberPeers(net, node.pubkey, request.peer)
  const funding = prepareFunding(net, node, request)
  publishFunding(net, node, funding)
  return { outpoint: funding.outpoint }
}

function doubleSpend(net: Net, txid: string): string {
  const inputs = net.all<{ txid: string; vout: bigint; value_sat: bigint; script: string }>(
    'SELECT txid, vout, value_sat, script FROM outputs WHERE spent_by = ? AND owner IS NOT NULL',
    txid,
  )
  const [first] = inputs
  if (!first || net.get('SELECT 1 FROM txs WHERE txid = ? AND height IS NOT NULL', txid))
    throw new Error(`${txid} is no wallet's payment that waits in the mempool`)
  dropTransaction(net, txid)
  const feeSat = 500n
  const valueSat = inputs.reduce((sum, { value_sat }) => sum + value_sat, 0n) - feeSat
  return acceptTransaction(
    net,
    {
      inputs: inputs.map((input) => ({ txid: input.txid, vout: Number(input.vout) })),
      outputs: [{ valueSat, script: first.script }],
    },
    { feeSat, vsize: 111 },
  )
}
