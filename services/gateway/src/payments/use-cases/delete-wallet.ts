import { command } from '@penstock/kernel/process.ts'
import type { WalletTarget } from '@penstock/contracts/payments/wallet.ts'
import { sendCommand } from '../../commands/commands.ts'
import type { WalletMutationsDeleteArgs } from '../../generated/schema-types.ts'
import { parseId } from '../../input.ts'
import { mutation } from '../../use-case.ts'
import { permitted } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import { requireWallet } from '../read/wallets.ts'

/** Deletes a wallet of a sandbox with its transactions. */
export const deleteWallet = mutation({
  path: 'payment.wallet.delete',
  limit: paymentsLimit,
  access: permitted('WALLETS', 'WRITE'),
  input: ({ id }: WalletMutationsDeleteArgs) => parseId(id),
  run: async (id, { gateway, caller }) => {
    await requireWallet(gateway.views, caller, id)
    await sendCommand(gateway, command<WalletTarget>('wallet', id, { type: 'DeleteWallet', data: {} }))
    return true
  },
})
