import { command } from '@penstock/kernel/process.ts'
import type { AccountTarget } from '@penstock/contracts/accounts.ts'
import { dashboardUser } from '../../access.ts'
import { sendCommand } from '../../commands/commands.ts'
import { dashboardLimit } from '../limits.ts'
import { mutation } from '../../use-case.ts'
import type { AccountMutationsLogOutEverywhereArgs } from '../../generated/schema-types.ts'

/** Revokes every dashboard token, also the caller's. */
export const logOutEverywhere = mutation({
  path: 'account.log_out_everywhere',
  limit: dashboardLimit,
  access: dashboardUser,
  input: ({ end_api_keys }: AccountMutationsLogOutEverywhereArgs) => end_api_keys === true,
  run: async (apiKeys, { gateway, caller: { accountId } }) => {
    await sendCommand(gateway, command<AccountTarget>('account', accountId, { type: 'LogOutEverywhere', data: { apiKeys } }))
    return { id: accountId, success: true }
  },
})
