import type { FindManyWalletsListArgs, WalletQueriesFindManyArgs } from '../../generated/schema-types.ts'
import { parseId } from '../../input.ts'
import { describeList, parsePage } from '../../list-page.ts'
import { readTogether } from '../../read-record-text.ts'
import { query } from '../../use-case.ts'
import { permitted, type PaymentsCaller } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import { requireOwnEnvironment } from '../read/environments.ts'
import { listWallets } from '../read/wallets.ts'
import { toSimpleWalletRecord } from '../records/wallet-record.ts'
import type { Gateway } from '../../ports.ts'

const parseWalletList = ({ input }: WalletQueriesFindManyArgs) => ({
  page: parsePage(input?.page),
  environmentId: parseEnvironmentId(input?.environment_id),
})

const parseEnvironmentId = (id: string | null | undefined): string | undefined =>
  id === null || id === undefined ? undefined : parseId(id)

export const getWallets = query({
  path: 'payment.wallet.find_many',
  limit: paymentsLimit,
  access: permitted('WALLETS', 'READ'),
  input: parseWalletList,
  run: async ({ page, environmentId }, { gateway, caller }) => {
    const listOf = async (id: string | undefined) => {
      await assertSeesEnvironment(gateway, caller, id)
      return listWallets(gateway.views, caller, page, id)
    }
    const { total, list } = await listOf(environmentId)
    return {
      ...describeList(`${caller.teamId}/wallets`, page, { environmentId }),
      total_count: total,
      list: async ({ environment_id }: FindManyWalletsListArgs) => {
        const otherId = parseEnvironmentId(environment_id)
        const rows = otherId === undefined ? list : (await listOf(otherId)).list
        const records = readTogether(gateway.records, rows, ({ name_record }) => name_record)
        return rows.map((row) => toSimpleWalletRecord(records, row))
      },
    }
  },
})

/** @throws the error for an unknown environment if the caller does not see it */
async function assertSeesEnvironment({ views }: Gateway, caller: PaymentsCaller, id: string | undefined): Promise<void> {
  if (id !== undefined) await requireOwnEnvironment(views, caller, id)
}
