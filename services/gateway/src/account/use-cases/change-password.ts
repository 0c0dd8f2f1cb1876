import { command } from '@penstock/kernel/process.ts'
import type { AccountTarget } from '@penstock/contracts/accounts.ts'
import { hashPassword } from '@penstock/credentials/passwords.ts'
import { dashboardUser } from '../../access.ts'
import { assertAccepted } from '../../commands/commands.ts'
import { invalidInput } from '../../errors.ts'
import { dashboardLimit } from '../limits.ts'
import { mutation } from '../../use-case.ts'
import { hasValidPasswordLength, verifyAccountPassword } from './passwords.ts'
import { getAnswerDeadline } from '../../commands/answer-deadline.ts'
import type { AccountMutationsChangePasswordArgs } from '../../generated/schema-types.ts'

function parsePasswordChange({ input }: AccountMutationsChangePasswordArgs) {
  if (!hasValidPasswordLength(input.new_password))
    throw invalidInput('new_password must have at least 12 characters, and at most 1024')
  return { password: input.password, newPassword: input.new_password, apiKeys: input.end_api_keys === true }
}

/** Changes the password and ends every token of the account. Wrong passwords count against a limit, also for a stolen token. */
export const changePassword = mutation({
  path: 'account.change_password',
  limit: dashboardLimit,
  access: dashboardUser,
  input: parsePasswordChange,
  run: async ({ password, newPassword, apiKeys }, { gateway, caller: { accountId }, ip }) => {
    const { ids, records, pepper, clock } = gateway
    const replaces = await verifyAccountPassword(gateway, accountId, ip, password)
    const passwordRecord = ids.uuid()
    await records.put(passwordRecord, 'password', JSON.stringify({ hash: await hashPassword(pepper, newPassword) }), clock.now())
    const change = command<AccountTarget>('account', accountId, {
      type: 'ChangePassword',
      data: { passwordRecord, replaces, apiKeys },
    })
    const answer = await gateway.commands.sendAndWait(change, { until: getAnswerDeadline(gateway) })
    if (answer.outcome === 'refused') await records.delete(passwordRecord)
    assertAccepted(answer)
    await records.delete(replaces)
    return { id: accountId, success: true }
  },
})
