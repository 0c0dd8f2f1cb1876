import { command } from '@penstock/kernel/process.ts'
import type { EnvironmentTarget } from '@penstock/contracts/payments/environment.ts'
import { getAnswerDeadline } from '../../commands/answer-deadline.ts'
import { requireInTime } from '../../commands/commands.ts'
import { forbidden, invalidInput } from '../../errors.ts'
import type { EnvironmentMutationsCreateArgs } from '../../generated/schema-types.ts'
import { mutation } from '../../use-case.ts'
import { permitted, requireUnscoped } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import { parseNameField } from '../input.ts'
import { findEnvironment } from '../read/environments.ts'
import { findWallet } from '../read/wallets.ts'
import { toEnvironmentRecord } from '../records/environment-record.ts'
import { sendNamedCommand } from './named-command.ts'

/** Creates a sandbox, and waits until its first wallet can be used. */
export const createEnvironment = mutation({
  path: 'payment.environment.create',
  limit: paymentsLimit,
  access: permitted('ENVIRONMENTS', 'WRITE'),
  input: ({ input }: EnvironmentMutationsCreateArgs) => ({ name: parseNameField(input.name), type: input.type }),
  run: async ({ name, type }, { gateway, caller }) => {
    requireUnscoped(caller)
    if (type === 'LIVE' && caller.key)
      throw forbidden('A service API key creates SANDBOX environments only. Use the dashboard token for a LIVE environment.')
    if (type === 'LIVE') throw invalidInput('LIVE environments are not served yet. Create a SANDBOX environment.')
    const { ids, views, waiters } = gateway
    const [environmentId, firstWalletId] = [ids.uuid(), ids.uuid()]
    const until = getAnswerDeadline(gateway)
    await sendNamedCommand(gateway, name, until, (nameRecord) =>
      command<EnvironmentTarget>('environment', environmentId, {
        type: 'CreateEnvironment',
        data: { teamId: caller.teamId, type, nameRecord, firstWalletId, keyId: caller.key?.id ?? null },
      }),
    )
    const findWithWallet = async () => (await findWallet(views, firstWalletId)) && (await findEnvironment(views, environmentId))
    return toEnvironmentRecord(gateway, requireInTime(await waiters.wait(findWithWallet, [environmentId, firstWalletId], until)))
  },
})
