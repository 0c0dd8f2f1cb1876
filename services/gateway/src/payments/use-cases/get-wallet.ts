import type { WalletQueriesFindOneArgs } from '../../generated/schema-types.ts'
import { parseId } from '../../input.ts'
import { query } from '../../use-case.ts'
import { permitted } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import { requireWallet } from '../read/wallets.ts'
import { toWalletRecord } from '../records/wallet-record.ts'

export const getWallet = query({
  path: 'payment.wallet.find_one',
  limit: paymentsLimit,
  access: permitted('WALLETS', 'READ'),
  input: ({ id }: WalletQueriesFindOneArgs) => parseId(id),
  run: async (id, { gateway, caller }) => toWalletRecord(gateway, await requireWallet(gateway.views, caller, id)),
})
