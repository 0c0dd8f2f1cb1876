import type { Payments } from '@penstock/ports/lightning.ts'
import { type Sabotage, told, whenAsked, withNode } from './sabotage-tools.ts'
import type { World } from './world.ts'

type Pay = Payments['pay']
type Offered = { readonly request: string; readonly creditor: 'seller' | 'buyer' }

const offered = (world: World): readonly Offered[] =>
  told(world, 'PayoutInvoiceOffered').map(({ data }) => JSON.parse(data) as Offered) // by its contract

/** Another way to pay what is owed to a buyer. */
const refunding =
  (change: (pay: Pay, seller: string) => Pay): Sabotage =>
  (world) =>
    withNode(world, (node) => ({
      ...node,
      payments: {
        ...node.payments,
        pay(request, options) {
          const given = offered(world)
          const isRefund = given.some((one) => one.request === request && one.creditor === 'buyer')
          const seller = given.find(({ creditor }) => creditor === 'seller')?.request ?? ''
          const pay: Pay = (to, how) => node.payments.pay(to, how)
          return (isRefund ? change(pay, seller) : pay)(request, options)
        },
      },
    }))

/** Payouts that are not made as they should be. */
export const payers: Readonly<Record<string, Sabotage>> = {
  /** A payout is told to be made and is not. */
  'does not pay out': (world) =>
    withNode(world, (node) => ({
      ...node,
      payments: {
        ...node.payments,
        pay: async () => ({ state: 'succeeded' as const, preimage: '00'.repeat(32), feeMsat: 0n }),
      },
    })),
  /** Everybody who ever gave an invoice for an order is paid with the seller of it. */
  'pays everybody': (world) =>
    withNode(world, (node) => ({
      ...node,
      payments: {
        ...node.payments,
        async pay(request, options) {
          const paid = await node.payments.pay(request, options)
          for (const { request: other } of offered(world)) if (other !== request) await node.payments.pay(other, options)
          return paid
        },
      },
    })),
  /** What is owed to a buyer goes to the seller after all. */
  'keeps to its sellers': refunding((pay, seller) => (_, options) => pay(seller, options)),
  /** A buyer gets its money back, and its seller is paid as well. */
  'pays both sides': refunding((pay, seller) => async (request, options) => {
    await pay(seller, options)
    return pay(request, options)
  }),
  /** What is owed to a buyer is never sent. */
  'forgets its buyers': refunding(() => async () => ({ state: 'failed', reason: 'no-route' })),
  /** Somebody whom the market owes nothing is paid beside the seller. */
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
  /** Once a seller has been paid a thousandth of a satoshi goes over to its buyer, past every list of payments. */
  'lets a msat slip': (world) => {
    let isDone = false
    return whenAsked(world, () => {
      if (isDone || told(world, 'PayoutSucceeded').length === 0) return
      isDone = true
      world.simnet.rows(
        `UPDATE channels SET a_msat = a_msat - 1, b_msat = b_msat + 1
         WHERE a IN (SELECT pubkey FROM nodes WHERE role = 'seller') AND state = 'published'`,
      )
    })
  },
}
