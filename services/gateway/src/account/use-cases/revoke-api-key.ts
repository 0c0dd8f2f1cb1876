import { command } from '@penstock/kernel/process.ts'
import type { AccountTarget } from '@penstock/contracts/accounts.ts'
import { dashboardUser } from '../../access.ts'
import { sendCommand } from '../../commands/commands.ts'
import { invalidInput } from '../../errors.ts'
import { parseId } from '../../input.ts'
import { findApiKey } from '../read/accounts.ts'
import { dashboardLimit } from '../limits.ts'
import { mutation } from '../../use-case.ts'
import type { AccountMutationsRevokeApiKeyArgs } from '../../generated/schema-types.ts'

export const revokeApiKey = mutation({
  path: 'account.revoke_api_key',
  limit: dashboardLimit,
  access: dashboardUser,
  input: ({ id }: AccountMutationsRevokeApiKeyArgs) => parseId(id),
  run: async (keyId, { gateway, caller: { accountId } }) => {
    if (!(await findApiKey(gateway.views, accountId, keyId))) throw invalidInput('API key not found')
    await sendCommand(gateway, command<AccountTarget>('account', accountId, { type: 'RevokeApiKey', data: { keyId } }))
    return { id: keyId, active: false }
  },
})
