import type { RegtestNetwork } from '@penstock/cluster/regtest/network.ts'
import type { RegtestNode } from '@penstock/cluster/regtest/node-role.ts'
import { getChannels, getFailedPayments, getInvoices, getPayments, getPendingPayments } from 'lightning'
import type {
  NetworkChannel,
  NetworkHtlc,
  NetworkInvoice,
  NetworkPayment,
  NetworkState,
} from '../../support/invariants/network-state.ts'

const PAGE_SIZE = 500

/** Reads the state of the nodes and the chain, and converts it to the type that the simulated network uses. */
export async function readLightningState(network: RegtestNetwork): Promise<NetworkState> {
  const { servers, nodes, nodesWithRole } = network
  const [market] = nodesWithRole('market')
  if (!market) throw new Error('the network has no market')
  const height = await servers.chain.rpc<number>('getblockcount')
  const payments = (await Promise.all(nodes.map(listPayments))).flat()
  const invoices = (await Promise.all(nodes.map(listInvoices))).flat()
  const channels = (await Promise.all(nodesWithRole('buyer').map((buyer) => listChannels(network, buyer)))).flat()
  return {
    height,
    marketPubkey: market.info.pubkey,
    payments,
    invoices: invoices.map(({ invoice }) => invoice),
    channels: new Map(channels.map((channel) => [channel.outpoint, channel])),
    heldHtlcs: [
      ...invoices.flatMap(({ heldHtlcs }) => heldHtlcs),
      ...payments.filter(({ state }) => state === 'in-flight').map(toPendingHtlc),
    ],
  }
}

const toPendingHtlc = ({ payment_hash, payee }: NetworkPayment): NetworkHtlc => ({
  payment_hash,
  receiver: payee,
  expiry_height: 0n,
  is_last: 0n,
})

/** Lists all payments of a node. The calls are separate, because lnd lists succeeded, pending and failed payments separately. */
async function listPayments({ lnd: { lnd }, info: { pubkey } }: RegtestNode): Promise<readonly NetworkPayment[]> {
  // Pending payments are read first. A payment that ends during the reads is listed twice, and the final state overwrites.
  const pending = await readAllPages(
    (page) => getPendingPayments({ lnd, ...page }),
    ({ payments }) => payments,
  )
  const failed = await readAllPages(
    (page) => getFailedPayments({ lnd, ...page }),
    ({ payments }) => payments,
  )
  const succeeded = await readAllPages(
    (page) => getPayments({ lnd, ...page }),
    ({ payments }) => payments,
  )
  const toPayment = (
    { id, destination = '', mtokens }: LndPayment,
    state: NetworkPayment['state'],
    fee = '0',
  ): NetworkPayment => ({
    payer: pubkey,
    payee: destination,
    payment_hash: id,
    amount_msat: BigInt(mtokens),
    fee_msat: BigInt(fee),
    state,
  })
  const all = [
    ...pending.map((payment) => toPayment(payment, 'in-flight')),
    ...failed.map((payment) => toPayment(payment, 'failed')),
    ...succeeded.map((payment) => toPayment(payment, 'succeeded', payment.fee_mtokens)),
  ]
  return [...new Map(all.map((payment) => [payment.payment_hash, payment])).values()]
}

type LndPayment = { readonly id: string; readonly destination?: string; readonly mtokens: string }
type PageRequest = { readonly limit: number } | { readonly token: string }

async function readAllPages<Result extends { readonly next?: string }, One>(
  read: (page: PageRequest) => Promise<Result>,
  getItems: (result: Result) => readonly One[],
): Promise<readonly One[]> {
  const all: One[] = []
  for (let page: PageRequest | undefined = { limit: PAGE_SIZE }; page;) {
    const result: Result = await read(page)
    all.push(...getItems(result))
    page = result.next === undefined ? undefined : { token: result.next }
  }
  return all
}

type ListedInvoice = { readonly invoice: NetworkInvoice; readonly heldHtlcs: readonly NetworkHtlc[] }

async function listInvoices({ lnd: { lnd }, role, info: { pubkey } }: RegtestNode): Promise<readonly ListedInvoice[]> {
  const all = await readAllPages(
    (page) => getInvoices({ lnd, ...page }),
    ({ invoices }) => invoices,
  )
  return all.map(({ id, tokens, is_confirmed, is_canceled, is_held, payments }) => ({
    invoice: {
      node: pubkey,
      role,
      payment_hash: id,
      amount_msat: 1000n * BigInt(tokens),
      state: is_confirmed ? 'settled' : is_canceled === true ? 'cancelled' : is_held === true ? 'held' : 'open',
    },
    heldHtlcs: payments
      .filter((payment) => payment.is_held)
      // The `lightning` package returns an HTLC's expiry height as `timeout`, but its types omit that field.
      .map((payment) => ({
        payment_hash: id,
        receiver: pubkey,
        expiry_height: BigInt((payment as typeof payment & { readonly timeout: number }).timeout),
        is_last: 1n,
      })),
  }))
}

/** Lists the channels as the buyer's node reports them, because a seller's node may lie. The chain gives their confirmations. */
async function listChannels(
  { servers: { chain } }: RegtestNetwork,
  { lnd: { lnd }, info: { pubkey } }: RegtestNode,
): Promise<readonly NetworkChannel[]> {
  const { channels } = await getChannels({ lnd })
  const height = await chain.rpc<number>('getblockcount')
  return Promise.all(
    channels.map(async (channel): Promise<NetworkChannel> => {
      const { transaction_id: txid, transaction_vout: vout, partner_public_key: partner } = channel
      const output = await chain.rpc<{ confirmations: number } | null>('gettxout', txid, vout, false)
      const isOpener = channel.is_partner_initiated === false
      return {
        outpoint: `${txid}:${vout}`,
        a: isOpener ? pubkey : partner,
        b: isOpener ? partner : pubkey,
        capacity_sat: BigInt(channel.capacity),
        is_private: channel.is_private ? 1n : 0n,
        state: 'published',
        funding_height: output && output.confirmations > 0 ? BigInt(height - output.confirmations + 1) : null,
        is_spent: output ? 0n : 1n,
      }
    }),
  )
}
