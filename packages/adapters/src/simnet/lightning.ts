import { Fault } from '@penstock/kernel/result.ts'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { recoverPubkey, signMessage } from '@penstock/bitcoin/message-signature.ts'
import type { Channels, Invoice, Lightning, OwnChannel, Payments, PaymentState } from '@penstock/ports/lightning.ts'
import { watchChannelChanges } from './channels/channel-changes.ts'
import { readHeight } from './chain.ts'
import { closeOwnChannel, listChannels } from './channels/channels.ts'
import { findClosedChannels } from './channels/closed-channels.ts'
import { abandonFunding, bumpFeeByChild, prepareFunding, publishFunding } from './channels/funding.ts'
import {
  findAnnouncedAddresses,
  findChannelsBetween,
  findGraphChannel,
  probeChannel,
  waitForProbeRelease,
} from './channels/graph.ts'
import * as invoices from './payments/invoices.ts'
import { areConnected, connectNodes, type SimNodeRow, requireNode, secretKeyOf } from './nodes.ts'
import { findPayment, startPayment } from './payments/payments.ts'
import type { SimnetStore } from './store.ts'
import { readConfirmedSat } from './wallet.ts'

/** Delays in ms of a call to a node that does not answer, and of an opening by a slow node. */
const UNANSWERED_TIMEOUT_MS = 500
const SLOW_OPENING_MS = 4000

type NodeCall = <T>(call: (node: SimNodeRow) => T) => Promise<T>

/** The Lightning port of a simulated node, for the owner of the node. */
export function createLightningPort(store: SimnetStore, alias: string): Lightning {
  // The node is looked up at every call, because its behaviour and reachability change while callers keep this port.
  const write: NodeCall = async (call) => {
    const node = await requireAnsweringNode(store, alias)
    return store.write(() => call(node))
  }
  // A read needs no transaction, because no other code runs during it.
  const read: NodeCall = async (call) => call(await requireAnsweringNode(store, alias))
  return {
    info: () =>
      read((node) => ({
        pubkey: node.pubkey,
        alias,
        version: 'simulated-0.20',
        network: 'regtest',
        uris: [`${node.pubkey}@${node.socket}`],
        synced: true,
        graphSynced: true,
        height: readHeight(store),
        holdExpiryDelta: invoices.HOLD_EXPIRY_DELTA,
      })),
    holds: {
      create: (request) => write((node) => invoices.createHoldInvoice(store, node, request)),
      find: (hash) => write((node) => findCurrentInvoice(store, node, hash)),
      settle: (preimage) => write((node) => invoices.settleInvoice(store, node.pubkey, preimage)),
      cancel: (hash) => write((node) => invoices.cancelInvoice(store, node.pubkey, hash)),
      held: () => read((node) => invoices.findHeldInvoices(store, node.pubkey)),
      changes: (hash, signal) => watchInvoice(store, alias, hash, signal),
    },
    payments: {
      pay: (request, options) => payInvoice(store, alias, request, options),
      find: (hash) => read((node) => findPayment(store, node.pubkey, hash)),
      createInvoice: (request) => write((node) => invoices.createInvoice(store, node, request)),
      findInvoice: (hash) => write((node) => findCurrentInvoice(store, node, hash)),
    },
    messages: {
      sign: (text) => read(() => signMessage(secretKeyOf(store, alias), text)),
      recover: (text, signature) => read(() => recoverPubkey(text, signature)),
    },
    peers: {
      connect: (pubkey, socket) => write((node) => connectNodes(store, node.pubkey, pubkey, socket)),
      isConnected: (pubkey) => read((node) => areConnected(store, node.pubkey, pubkey)),
      addresses: (pubkey) => read(() => findAnnouncedAddresses(store, pubkey)),
    },
    graph: {
      channel: (outpoint) => read((node) => findGraphChannel(store, node.pubkey, outpoint)),
      between: (a, b) => read((node) => findChannelsBetween(store, node.pubkey, a, b)),
      probe: async (request) => {
        const outcome = await read((node) => probeChannel(store, node.pubkey, request))
        if (outcome.reached) await waitForProbeRelease(store, request.destination)
        return outcome
      },
    },
    channels: createChannelsPort(store, alias, write, read),
    wallet: {
      confirmedSat: () => read((node) => readConfirmedSat(store, node.pubkey)),
      // A peer cannot send its channel reserve.
      inboundSat: () =>
        read((node) => sumActive(store, node, ({ remoteSat, reserveSat }) => clampToZero(remoteSat - reserveSat))),
      localSat: () => read((node) => sumActive(store, node, ({ localSat }) => localSat)),
    },
  }
}

const createChannelsPort = (store: SimnetStore, alias: string, write: NodeCall, read: NodeCall): Channels => ({
  list: () => read((node) => listChannels(store, node.pubkey)),
  closed: () => read((node) => findClosedChannels(store, node.pubkey)),
  async *changes(signal) {
    const { pubkey } = await requireAnsweringNode(store, alias)
    yield* watchChannelChanges(store, pubkey, signal)
  },
  prepare: async (request) => {
    const { behaviour } = await requireAnsweringNode(store, alias)
    if (behaviour === 'slow') await store.clock.sleep(SLOW_OPENING_MS, store.ended)
    return write((node) => prepareFunding(store, node, request))
  },
  publish: (funding) => write((node) => publishFunding(store, node, funding)),
  abandon: ({ outpoint }) => write((node) => abandonFunding(store, node, outpoint)),
  bumpFee: (outpoint, feeRate) => write((node) => bumpFeeByChild(store, node, outpoint, feeRate)),
  close: (outpoint) => write((node) => closeOwnChannel(store, node.pubkey, outpoint)),
})

/** @throws Fault after a timeout if the node does not answer, or at once if the network is closed */
async function requireAnsweringNode(store: SimnetStore, alias: string): Promise<SimNodeRow> {
  const node = requireNode(store, alias)
  if (node.online === 1n && node.behaviour !== 'silent') return node
  await store.clock.sleep(UNANSWERED_TIMEOUT_MS, store.ended)
  throw new Fault(`${alias} does not answer`)
}

function findCurrentInvoice(store: SimnetStore, node: SimNodeRow, paymentHash: string): Invoice | undefined {
  invoices.expireInvoices(store)
  return invoices.findInvoice(store, node.pubkey, paymentHash)
}

async function* watchInvoice(
  store: SimnetStore,
  alias: string,
  paymentHash: string,
  signal: AbortSignal,
): AsyncGenerator<Invoice> {
  const node = await requireAnsweringNode(store, alias)
  yield* store.watch(`invoice/${paymentHash}`, signal, () => store.write(() => findCurrentInvoice(store, node, paymentHash)))
}

/** Starts the payment, then waits for its end until the timeout. A payment that is held by then stays in flight. */
async function payInvoice(
  store: SimnetStore,
  alias: string,
  request: string,
  { maxFeeMsat, timeoutMs, notAfter }: Parameters<Payments['pay']>[1],
): Promise<PaymentState> {
  const { pubkey } = await requireAnsweringNode(store, alias)
  const started = store.write(() => startPayment(store, pubkey, request, { maxFeeMsat, notAfter }))
  const paymentHash = decodePaymentRequest(request)?.paymentHash ?? ''
  if (started.state !== 'in-flight') return started
  const timeout = new AbortController()
  void store.clock.sleep(timeoutMs, timeout.signal).then(() => timeout.abort())
  try {
    const states = store.watch(`payment/${paymentHash}`, timeout.signal, () => findPayment(store, pubkey, paymentHash))
    for await (const found of states) if (found.state !== 'in-flight') return found
    return started
  } finally {
    timeout.abort()
  }
}

const sumActive = (store: SimnetStore, node: SimNodeRow, sat: (channel: OwnChannel) => bigint): bigint =>
  listChannels(store, node.pubkey).reduce((sum, channel) => (channel.state === 'active' ? sum + sat(channel) : sum), 0n)

const clampToZero = (sat: bigint): bigint => (sat > 0n ? sat : 0n)
