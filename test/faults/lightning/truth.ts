import type { Network } from '@penstock/cluster/regtest/network.ts'
import type { Person } from '@penstock/cluster/regtest/person.ts'
import { getChannels, getInvoices, getPayments, type GetInvoicesResult, type GetPaymentsResult } from 'lightning'
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

/**
 * What the market's side of its channels is worth, in msat. Whoever opened a channel has all of it that is not the other
 * side's: what its commitment costs changes with what is in it, and comes back when it is closed.
 */
export async function nodeMsat({ node: { lnd } }: Person): Promise<bigint> {
  const { channels } = await getChannels({ lnd })
  const sat = channels.map(({ capacity, local_balance, remote_balance, is_partner_initiated }) =>
    is_partner_initiated ? local_balance : capacity - remote_balance,
  )
  return 1000n * BigInt(sat.reduce((sum, one) => sum + one, 0))
}

const underWay = ({ payment_hash, payee }: Payment): Htlc => ({
  payment_hash,
  receiver: payee,
  expiry_height: 0n,
  is_last: 0n,
})

async function paymentsOf({ node: { lnd }, info: { pubkey } }: Person): Promise<readonly Payment[]> {
  const all: GetPaymentsResult['payments'] = []
  for (let token: string | undefined; ;) {
    const page = await getPayments(token === undefined ? { lnd, limit: PAGE } : { lnd, token })
    all.push(...page.payments)
    token = page.next
    if (token === undefined) break
  }
  return all.map(({ id, destination, mtokens, fee_mtokens, is_confirmed, attempts }) => ({
    payer: pubkey,
    payee: destination,
    payment_hash: id,
    amount_msat: BigInt(mtokens),
    fee_msat: BigInt(fee_mtokens),
    state: is_confirmed ? 'succeeded' : attempts.some(({ is_pending }) => is_pending) ? 'in-flight' : 'failed',
  }))
}

type Listed = { readonly invoice: Invoice; readonly held: readonly Htlc[] }

async function invoicesOf({ node: { lnd }, role, info: { pubkey } }: Person): Promise<readonly Listed[]> {
  const all: GetInvoicesResult['invoices'] = []
  for (let token: string | undefined; ;) {
    const page = await getInvoices(token === undefined ? { lnd, limit: PAGE } : { lnd, token })
    all.push(...page.invoices)
    token = page.next
    if (token === undefined) break
  }
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
