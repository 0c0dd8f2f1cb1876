import { Fault } from '@penstock/kernel/result.ts'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { recover, sign } from '@penstock/bitcoin/message-signature.ts'
import type { Channels, Invoice, Lightning, OwnChannel, Payments, PaymentState } from '@penstock/ports/lightning.ts'
import { channelChanges } from './channel-changes.ts'
import { heightOf } from './chain.ts'
import { closeOwnChannel, listChannels } from './channels.ts'
import { closedChannels } from './closed-channels.ts'
import { abandonFunding, bumpFunding, prepareFunding, publishFunding } from './funding.ts'
import { announcedAddresses, channelsBetween, graphChannel, probe, probesReleased } from './graph.ts'
import * as invoices from './invoices.ts'
import { areConnected, connectNodes, type Node, nodeCalled, secretKeyOf } from './nodes.ts'
import { findPayment, startPayment } from './payments.ts'
import type { Net } from './store.ts'
import { confirmedSat } from './wallet.ts'

/** How long a caller waits for a node that answers nothing, and for one that takes its time over an opening. */
const SILENCE_MS = 500
const SLOW_OPENING_MS = 4000

type Ask = <T>(work: (node: Node) => T) => Promise<T>

/** A node's own interface, as its owner calls it. */
export function lightningOf(net: Net, alias: string): Lightning {
  // Looked up at every call: behaviour and reachability change while callers hold on to their node.
  const ask: Ask = async (work) => {
    const node = await answering(net, alias)
    return net.write(() => work(node))
  }
  // What changes nothing needs no transaction: nothing else runs meanwhile.
  const look: Ask = async (work) => work(await answering(net, alias))
  return {
    info: () =>
      look((node) => ({
        pubkey: node.pubkey,
        alias,
        version: 'simulated-0.20',
        network: 'regtest',
        uris: [`${node.pubkey}@${node.socket}`],
        synced: true,
        graphSynced: true,
        height: heightOf(net),
        holdExpiryDelta: invoices.HOLD_EXPIRY_DELTA,
      })),
    holds: {
      create: (request) => ask((node) => invoices.createHoldInvoice(net, node, request)),
      find: (hash) => ask((node) => freshInvoice(net, node, hash)),
      settle: (preimage) => ask((node) => invoices.settleInvoice(net, node.pubkey, preimage)),
      cancel: (hash) => ask((node) => invoices.cancelInvoice(net, node.pubkey, hash)),
      held: () => look((node) => invoices.heldInvoices(net, node.pubkey)),
      changes: (hash, signal) => invoiceChanges(net, alias, hash, signal),
    },
    payments: {
      pay: (request, options) => pay(net, alias, request, options),
      find: (hash) => look((node) => findPayment(net, node.pubkey, hash)),
      createInvoice: (request) => ask((node) => invoices.createInvoice(net, node, request)),
      findInvoice: (hash) => ask((node) => freshInvoice(net, node, hash)),
    },
    messages: {
      sign: (text) => look(() => sign(secretKeyOf(net, alias), text)),
      recover: (text, signature) => look(() => recover(text, signature)),
    },
    peers: {
      connect: (pubkey, socket) => ask((node) => connectNodes(net, node.pubkey, pubkey, socket)),
      isConnected: (pubkey) => look((node) => areConnected(net, node.pubkey, pubkey)),
      addresses: (pubkey) => look(() => announcedAddresses(net, pubkey)),
    },
    graph: {
      channel: (outpoint) => look((node) => graphChannel(net, node.pubkey, outpoint)),
      between: (a, b) => look((node) => channelsBetween(net, node.pubkey, a, b)),
      probe: async (request) => {
        const outcome = await look((node) => probe(net, node.pubkey, request))
        if (outcome.reached) await probesReleased(net, request.destination)
        return outcome
      },
    },
    channels: channelCalls(net, alias, ask, look),
    wallet: {
      confirmedSat: () => look((node) => confirmedSat(net, node.pubkey)),
      // Nobody can send what he has to keep in the channel.
      inboundSat: () =>
        look((node) => sumActive(net, node, ({ remoteSat, reserveSat }) => atLeastNothing(remoteSat - reserveSat))),
      localSat: () => look((node) => sumActive(net, node, ({ localSat }) => localSat)),
    },
  }
}

const channelCalls = (net: Net, alias: string, ask: Ask, look: Ask): Channels => ({
  list: () => look((node) => listChannels(net, node.pubkey)),
  closed: () => look((node) => closedChannels(net, node.pubkey)),
  async *changes(signal) {
    const { pubkey } = await answering(net, alias)
    yield* channelChanges(net, pubkey, signal)
  },
  prepare: async (request) => {
    const { behaviour } = await answering(net, alias)
    if (behaviour === 'slow') await net.clock.sleep(SLOW_OPENING_MS, net.ended)
    return ask((node) => prepareFunding(net, node, request))
  },
  publish: (funding) => ask((node) => publishFunding(net, node, funding)),
  abandon: ({ outpoint }) => ask((node) => abandonFunding(net, node, outpoint)),
  bumpFee: (outpoint, feeRate) => ask((node) => bumpFunding(net, node, outpoint, feeRate)),
  close: (outpoint) => ask((node) => closeOwnChannel(net, node.pubkey, outpoint)),
})

/** @throws Fault after a while where the node answers nothing, at once where the network is closed */
async function answering(net: Net, alias: string): Promise<Node> {
  const node = nodeCalled(net, alias)
  if (node.online === 1n && node.behaviour !== 'silent') return node
  await net.clock.sleep(SILENCE_MS, net.ended)
  throw new Fault(`${alias} does not answer`)
}

function freshInvoice(net: Net, node: Node, paymentHash: string): Invoice | undefined {
  invoices.lapseInvoices(net)
  return invoices.findInvoice(net, node.pubkey, paymentHash)
}

async function* invoiceChanges(net: Net, alias: string, paymentHash: string, signal: AbortSignal): AsyncGenerator<Invoice> {
  const node = await answering(net, alias)
  yield* net.watch(`invoice/${paymentHash}`, signal, () => net.write(() => freshInvoice(net, node, paymentHash)))
}

/** Starts the payment, then waits for its end as long as the caller wants to; what is held by then stays in flight. */
async function pay(
  net: Net,
  alias: string,
  request: string,
  { maxFeeMsat, timeoutMs, notAfter }: Parameters<Payments['pay']>[1],
): Promise<PaymentState> {
  const { pubkey } = await answering(net, alias)
  const started = net.write(() => startPayment(net, pubkey, request, { maxFeeMsat, notAfter }))
  const paymentHash = decodePaymentRequest(request)?.paymentHash ?? ''
  if (started.state !== 'in-flight') return started
  const patience = new AbortController()
  void net.clock.sleep(timeoutMs, patience.signal).then(() => patience.abort())
  try {
    const states = net.watch(`payment/${paymentHash}`, patience.signal, () => findPayment(net, pubkey, paymentHash))
    for await (const now of states) if (now.state !== 'in-flight') return now
    return started
  } finally {
    patience.abort()
  }
}

const sumActive = (net: Net, node: Node, sat: (channel: OwnChannel) => bigint): bigint =>
  listChannels(net, node.pubkey).reduce((sum, channel) => (channel.state === 'active' ? sum + sat(channel) : sum), 0n)

const atLeastNothing = (sat: bigint): bigint => (sat > 0n ? sat : 0n)
