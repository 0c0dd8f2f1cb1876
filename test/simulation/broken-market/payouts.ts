import type { Payments } from '@penstock/ports/lightning.ts'
import { type MarketDefect, findFacts, onHoldsListed, withNode } from './tools.ts'
import type { SimulatedWorld } from '../world/simulated-world.ts'

type PayFunction = Payments['pay']
type SubmittedInvoice = { readonly request: string; readonly creditor: 'seller' | 'buyer' }

const listSubmittedInvoices = (world: SimulatedWorld): readonly SubmittedInvoice[] =>
  findFacts(world, 'PayoutInvoiceSubmitted').map(({ data }) => JSON.parse(data) as SubmittedInvoice) // By the fact's contract.

/** @param change changes the payment of refunds; its second argument is the seller's invoice */
const changeRefunds =
  (change: (pay: PayFunction, seller: string) => PayFunction): MarketDefect =>
  (world) =>
    withNode(world, (node) => ({
      ...node,
      payments: {
        ...node.payments,
        pay(request, options) {
          const invoices = listSubmittedInvoices(world)
          const isRefund = invoices.some((invoice) => invoice.request === request && invoice.creditor === 'buyer')
          const seller = invoices.find(({ creditor }) => creditor === 'seller')?.request ?? ''
          const pay: PayFunction = (to, payOptions) => node.payments.pay(to, payOptions)
          return (isRefund ? change(pay, seller) : pay)(request, options)
        },
      },
    }))

/** Defects in payouts. */
export const payoutDefects: Readonly<Record<string, MarketDefect>> = {
  /** A payout is reported as paid, but not sent. */
  'does not pay out': (world) =>
    withNode(world, (node) => ({
      ...node,
      payments: {
        ...node.payments,
        pay: async () => ({ state: 'succeeded' as const, preimage: '00'.repeat(32), feeMsat: 0n }),
      },
    })),
  /** With each payout, the market also pays all other invoices that were submitted for any order. */
  'pays everybody': (world) =>
    withNode(world, (node) => ({
      ...node,
      payments: {
        ...node.payments,
        async pay(request, options) {
          const payment = await node.payments.pay(request, options)
          for (const { request: otherRequest } of listSubmittedInvoices(world))
            if (otherRequest !== request) await node.payments.pay(otherRequest, options)
          return payment
        },
      },
    })),
  /** A refund is paid to the seller and not to the buyer. */
  'keeps to its sellers': changeRefunds((pay, seller) => (_, options) => pay(seller, options)),
  /** A refund is paid to the buyer, and the same amount also to the seller. */
  'pays both sides': changeRefunds((pay, seller) => async (request, options) => {
    await pay(seller, options)
    return pay(request, options)
  }),
  /** No refund is ever sent. */
  'forgets its buyers': changeRefunds(() => async () => ({ state: 'failed', reason: 'no-route' })),
  /** With each payout, the market also pays a node to which it owes nothing. */
  'pays a stranger': (world) =>
    withNode(world, (node) => ({
      ...node,
      payments: {
        ...node.payments,
        async pay(request, options) {
          await node.payments.pay(world.simnet.control.invoice('spare', 1000n, 60).invoice, options)
          return node.payments.pay(request, options)
        },
      },
    })),
  /** After the first payout, one msat moves from sellers to buyers without a payment. */
  'lets a msat slip': (world) => {
    let isDone = false
    return onHoldsListed(world, () => {
      if (isDone || findFacts(world, 'PayoutSucceeded').length === 0) return
      isDone = true
      world.simnet.rows(
        `UPDATE channels SET a_msat = a_msat - 1, b_msat = b_msat + 1
         WHERE a IN (SELECT pubkey FROM nodes WHERE role = 'seller') AND state = 'published'`,
      )
    })
  },
}
