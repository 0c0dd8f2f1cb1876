import type { Network } from '@penstock/cluster/regtest/network.ts'
import type { Person } from '@penstock/cluster/regtest/person.ts'
import { getChannels, getFailedPayments, getInvoices, getPayments, getPendingPayments } from 'lightning'
import type { Channel, Htlc, Invoice, Payment, Truth } from '../truth.ts'

const PAGE = 500

/** What the nodes and the chain themselves say, in the form that the simulated network says it in. */
export async function truthOfNodes(network: Network): Promise<Truth> {
  const { servers, people, having } = network
  const [market] = having('market')
  if (!market) throw new Error('the network has no market')
  const height = await servers.chain.rpc<number>('getblockcount')
  const payments = (await Promise.all(people.map(paymentsOf))).flat()
  const invoices = (await Promise.all(people.map(invoicesOf))).flat()
  const channels = (await Promise.all(having('buyer').map((buyer) => channelsOf(network, buyer)))).flat()
  return {
    height,
    market: market.info.pubkey,
    payments,
    invoices: invoices.map(({ invoice }) => invoice),
    channels: new Map(channels.map((channel) => [channel.outpoint, channel])),
    held: [...invoices.flatMap(({ held }) => held), ...payments.filter(({ state }) => state === 'in-flight').map(underWay)],
  }
}

const underWay = ({ payment_hash, payee }: Payment): Htlc => ({
  payment_hash,
  receiver: payee,
  expiry_height: 0n,
  is_last: 0n,
})

/** lnd lists what has succeeded apart from what is under way and from what has failed. */
async function paymentsOf({ node: { lnd }, info: { pubkey } }: Person): Promise<readonly Payment[]> {
  // In this order: what ends meanwhile is listed once more, and counts as it ended.
  const pending = await allPages(
    (page) => getPendingPayments({ lnd, ...page }),
    ({ payments }) => payments,
  )
  const failed = await allPages(
    (page) => getFailedPayments({ lnd, ...page }),
    ({ payments }) => payments,
  )
  const succeeded = await allPages(
    (page) => getPayments({ lnd, ...page }),
    ({ payments }) => payments,
  )
  const of = ({ id, destination = '', mtokens }: Paid, state: Payment['state'], fee = '0'): Payment => ({
    payer: pubkey,
    payee: destination,
    payment_hash: id,
    amount_msat: BigInt(mtokens),
    fee_msat: BigInt(fee),
    state,
  })
  const all = [
    ...pending.map((payment) => of(payment, 'in-flight')),
    ...failed.map((payment) => of(payment, 'failed')),
    ...succeeded.map((payment) => of(payment, 'succeeded', payment.fee_mtokens)),
  ]
  return [...new Map(all.map((payment) => [payment.payment_hash, payment])).values()]
}

type Paid = { readonly id: string; readonly destination?: string; readonly mtokens: string }
type Page = { readonly limit: number } | { readonly token: string }

async function allPages<Result extends { readonly next?: string }, One>(
  read: (page: Page) => Promise<Result>,
  listed: (result: Result) => readonly One[],
): Promise<readonly One[]> {
  const all: One[] = []
  for (let page: Page | undefined = { limit: PAGE }; page;) {
    const result: Result = await read(page)
    all.push(...listed(result))
    page = result.next === undefined ? undefined : { token: result.next }
  }
  return all
}

type Listed = { readonly invoice: Invoice; readonly held: readonly Htlc[] }

async function invoicesOf({ node: { lnd }, role, info: { pubkey } }: Person): Promise<readonly Listed[]> {
  const all = await allPages(
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
    held: payments
      .filter((payment) => payment.is_held)
      // The package gives the height at which an HTLC ends, and its types have forgotten it.
      .map((payment) => ({
        payment_hash: id,
        receiver: pubkey,
        expiry_height: BigInt((payment as typeof payment & { readonly timeout: number }).timeout),
        is_last: 1n,
      })),
  }))
}

/** As the buyer's node has them, who has no reason to be kind to the seller; the chain has to agree. */
async function channelsOf(
  { servers: { chain } }: Network,
  { node: { lnd }, info: { pubkey } }: Person,
): Promise<readonly Channel[]> {
  const { channels } = await getChannels({ lnd })
  const height = await chain.rpc<number>('getblockcount')
  return Promise.all(
    channels.map(async (channel): Promise<Channel> => {
      const { transaction_id: txid, transaction_vout: vout, partner_public_key: partner } = channel
      const output = await chain.rpc<{ confirmations: number } | null>('gettxout', txid, vout, false)
      const opensItself = channel.is_partner_initiated === false
      return {
        outpoint: `${txid}:${vout}`,
        a: opensItself ? pubkey : partner,
        b: opensItself ? partner : pubkey,
        capacity_sat: BigInt(channel.capacity),
        is_private: channel.is_private ? 1n : 0n,
        state: 'published',
        funding_height: output && output.confirmations > 0 ? BigInt(height - output.confirmations + 1) : null,
        is_spent: output ? 0n : 1n,
      }
    }),
  )
}
