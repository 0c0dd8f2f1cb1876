import { dashboardUser } from '../../access.ts'
import { listApiKeyRows } from '../read/accounts.ts'
import { dashboardLimit } from '../limits.ts'
import { readTogether } from '../../read-record-text.ts'
import { query } from '../../use-case.ts'
import { toApiKeyRecord } from './api-key-record.ts'
import { describeList, parsePage } from '../../list-page.ts'
import type { AccountQueriesApiKeysArgs } from '../../generated/schema-types.ts'

export const getApiKeys = query({
  path: 'account.api_keys',
  limit: dashboardLimit,
  access: dashboardUser,
  input: ({ page }: AccountQueriesApiKeysArgs) => parsePage(page),
  run: async (page, { gateway, caller: { accountId } }) => {
    const { total, list } = await listApiKeyRows(gateway.views, accountId, page)
    const records = readTogether(gateway.records, list, ({ name_record }) => name_record)
    return {
      ...describeList(`${accountId}/api_keys`, page),
      total_count: total,
      list: await Promise.all(list.map((row) => toApiKeyRecord({ ...gateway, records }, row))),
    }
  },
})
