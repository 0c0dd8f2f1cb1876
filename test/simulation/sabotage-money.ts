import { type Sabotage, told, whenAsked, withNode } from './sabotage-tools.ts'

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
          for (const { data } of told(world, 'PayoutInvoiceOffered')) {
            const other = (JSON.parse(data) as { readonly request: string }).request // by its contract
            if (other !== request) await node.payments.pay(other, options)
          }
          return paid
        },
      },
    })),
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
