import { dashboardUser } from '../../access.ts'
import { dashboardLimit } from '../../account/limits.ts'
import type { ServiceApiKeyQueriesGetManyArgs } from '../../generated/schema-types.ts'
import { parseId } from '../../input.ts'
import { readTogether } from '../../read-record-text.ts'
import { query } from '../../use-case.ts'
import { requireEnvironment } from '../read/environments.ts'
import { toServiceKeyRecord } from './key-record.ts'
import { listKeys } from './read.ts'

export const getServiceKeys = query({
  path: 'service_api_keys.get_many',
  limit: dashboardLimit,
  access: dashboardUser,
  input: ({ environment_id }: ServiceApiKeyQueriesGetManyArgs) => parseId(environment_id),
  run: async (environmentId, { gateway, caller: { accountId } }) => {
    await requireEnvironment(gateway.views, { teamId: accountId, key: null }, environmentId)
    const rows = await listKeys(gateway.views, environmentId)
    const records = readTogether(gateway.records, rows, ({ name_record }) => name_record)
    return rows.map((row) => toServiceKeyRecord({ ...gateway, records }, row))
  },
})
