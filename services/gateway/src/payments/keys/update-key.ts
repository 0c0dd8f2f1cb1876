import { command } from '@penstock/kernel/process.ts'
import type { ServiceKeyTarget } from '@penstock/contracts/payments/service-key.ts'
import { dashboardUser } from '../../access.ts'
import { dashboardLimit } from '../../account/limits.ts'
import { getAnswerDeadline } from '../../commands/answer-deadline.ts'
import type { ServiceApiKeyMutationsUpdateArgs } from '../../generated/schema-types.ts'
import { parseId } from '../../input.ts'
import { mutation } from '../../use-case.ts'
import { parseNameField } from '../input.ts'
import { sendNamedCommand } from '../use-cases/named-command.ts'
import { toServiceKeyRecord } from './key-record.ts'
import { requireTeamKey } from './read.ts'

/** Changes the name of a key, and deletes the old name. */
export const updateServiceKey = mutation({
  path: 'service_api_key.update',
  limit: dashboardLimit,
  access: dashboardUser,
  input: ({ id, input }: ServiceApiKeyMutationsUpdateArgs) => ({ id: parseId(id), name: parseNameField(input.name) }),
  run: async ({ id, name }, { gateway, caller: { accountId } }) => {
    const { name_record } = await requireTeamKey(gateway.views, accountId, id)
    await sendNamedCommand(gateway, name, getAnswerDeadline(gateway), (nameRecord) =>
      command<ServiceKeyTarget>('servicekey', id, { type: 'RenameKey', data: { nameRecord } }),
    )
    await gateway.records.delete(name_record)
    return toServiceKeyRecord(gateway, await requireTeamKey(gateway.views, accountId, id))
  },
})
