import type { EnvironmentQueriesFindManyArgs } from '../../generated/schema-types.ts'
import { describeList, parsePage } from '../../list-page.ts'
import { readTogether } from '../../read-record-text.ts'
import { query } from '../../use-case.ts'
import { permitted, requireUnscoped } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import { listEnvironments } from '../read/environments.ts'
import { toSimpleEnvironmentRecord } from '../records/environment-record.ts'

export const getEnvironments = query({
  path: 'payment.environment.find_many',
  limit: paymentsLimit,
  access: permitted('ENVIRONMENTS', 'READ'),
  input: ({ input }: EnvironmentQueriesFindManyArgs) => parsePage(input?.page),
  run: async (page, { gateway, caller }) => {
    requireUnscoped(caller)
    const { total, list } = await listEnvironments(gateway.views, caller, page)
    const records = readTogether(gateway.records, list, ({ name_record }) => name_record)
    return {
      ...describeList(`${caller.teamId}/environments`, page),
      total_count: total,
      list: list.map((row) => toSimpleEnvironmentRecord({ ...gateway, records }, row)),
    }
  },
})
