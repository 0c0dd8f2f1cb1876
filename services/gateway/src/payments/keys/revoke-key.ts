import { command } from '@penstock/kernel/process.ts'
import type { ServiceKeyTarget } from '@penstock/contracts/payments/service-key.ts'
import { dashboardUser } from '../../access.ts'
import { dashboardLimit } from '../../account/limits.ts'
import { sendCommand } from '../../commands/commands.ts'
import type { ServiceApiKeyMutationsRevokeArgs } from '../../generated/schema-types.ts'
import { parseId } from '../../input.ts'
import { mutation } from '../../use-case.ts'
import { toServiceKeyRecord } from './key-record.ts'
import { requireTeamKey } from './read.ts'

/** Ends a key. The answer waits for the row that every process reads, so the next call of the key is refused. */
export const revokeServiceKey = mutation({
  path: 'service_api_key.revoke',
  limit: dashboardLimit,
  access: dashboardUser,
  input: ({ id }: ServiceApiKeyMutationsRevokeArgs) => parseId(id),
  run: async (id, { gateway, caller: { accountId } }) => {
    await requireTeamKey(gateway.views, accountId, id)
    await sendCommand(gateway, command<ServiceKeyTarget>('servicekey', id, { type: 'RevokeKey', data: {} }))
    return toServiceKeyRecord(gateway, await requireTeamKey(gateway.views, accountId, id))
  },
})
