import type { EnvironmentQueriesFindOneArgs } from '../../generated/schema-types.ts'
import { parseId } from '../../input.ts'
import { query } from '../../use-case.ts'
import { permitted, requireUnscoped } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import { requireEnvironment } from '../read/environments.ts'
import { toEnvironmentRecord } from '../records/environment-record.ts'

export const getEnvironment = query({
  path: 'payment.environment.find_one',
  limit: paymentsLimit,
  access: permitted('ENVIRONMENTS', 'READ'),
  input: ({ id }: EnvironmentQueriesFindOneArgs) => parseId(id),
  run: async (id, { gateway, caller }) => {
    requireUnscoped(caller)
    return toEnvironmentRecord(gateway, await requireEnvironment(gateway.views, caller, id))
  },
})
