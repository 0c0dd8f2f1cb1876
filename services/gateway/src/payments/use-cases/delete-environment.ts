import { command } from '@penstock/kernel/process.ts'
import type { EnvironmentTarget } from '@penstock/contracts/payments/environment.ts'
import { sendCommand } from '../../commands/commands.ts'
import type { EnvironmentMutationsDeleteArgs } from '../../generated/schema-types.ts'
import { parseId } from '../../input.ts'
import { mutation } from '../../use-case.ts'
import { permitted, requireUnscoped } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import { requireEnvironment } from '../read/environments.ts'

/** Deletes a sandbox with its wallets, transactions and keys. */
export const deleteEnvironment = mutation({
  path: 'payment.environment.delete',
  limit: paymentsLimit,
  access: permitted('ENVIRONMENTS', 'WRITE'),
  input: ({ id }: EnvironmentMutationsDeleteArgs) => parseId(id),
  run: async (id, { gateway, caller }) => {
    requireUnscoped(caller)
    await requireEnvironment(gateway.views, caller, id)
    await sendCommand(gateway, command<EnvironmentTarget>('environment', id, { type: 'DeleteEnvironment', data: {} }))
    return true
  },
})
