import { command } from '@penstock/kernel/process.ts'
import type { AccountTarget } from '@penstock/contracts/accounts.ts'
import { hashCredential } from '@penstock/credentials/credentials.ts'
import { dashboardUser } from '../../access.ts'
import { sendCommand } from '../../commands/commands.ts'
import { mutation, noInput } from '../../use-case.ts'

export const logOut = mutation({
  path: 'account.logout',
  access: dashboardUser,
  input: noInput,
  run: async (_, { gateway, caller: { accountId, credential } }) => {
    const tokenHash = hashCredential(gateway.pepper, credential)
    await sendCommand(gateway, command<AccountTarget>('account', accountId, { type: 'LogOut', data: { tokenHash } }))
    return { id: accountId, success: true }
  },
})
