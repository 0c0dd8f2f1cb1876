import { invalidInput } from '../../errors.ts'
import type { ListTransactionsInput, TransactionQueriesFindManyArgs } from '../../generated/schema-types.ts'
import { parseId, parseTimeField } from '../../input.ts'
import { describeList, parsePage } from '../../list-page.ts'
import type { Gateway } from '../../ports.ts'
import { readTogether } from '../../read-record-text.ts'
import { query } from '../../use-case.ts'
import { type PaymentsCaller, permitted } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import { requireOwnEnvironment } from '../read/environments.ts'
import { listTransactions, type TransactionFilter, type TransactionScope } from '../read/transactions.ts'
import { requireWallet } from '../read/wallets.ts'
import { toSimpleTransactionRecord } from '../records/transaction-record.ts'

function parseScope({ wallet_id, environment_id }: ListTransactionsInput): TransactionScope {
  if (typeof wallet_id === 'string' && typeof environment_id !== 'string') return { walletId: parseId(wallet_id) }
  if (typeof environment_id === 'string' && typeof wallet_id !== 'string') return { environmentId: parseId(environment_id) }
  throw invalidInput('Name exactly one of wallet_id and environment_id')
}

function parseFilter({ filter }: ListTransactionsInput): TransactionFilter {
  const { from, to } = filter?.date_range ?? {}
  return {
    direction: filter?.direction ?? undefined,
    status: filter?.status ?? undefined,
    from: typeof from === 'string' ? parseTimeField(from, 'filter.date_range.from') : undefined,
    to: typeof to === 'string' ? parseTimeField(to, 'filter.date_range.to') : undefined,
  }
}

export const getTransactions = query({
  path: 'payment.transaction.find_many',
  limit: paymentsLimit,
  access: permitted('PAYMENTS', 'READ'),
  input: ({ input }: TransactionQueriesFindManyArgs) => ({
    scope: parseScope(input),
    filter: parseFilter(input),
    page: parsePage(input.page),
  }),
  run: async ({ scope, filter, page }, { gateway, caller }) => {
    const visible = await restrictScope(gateway, caller, scope)
    const { total, list } = await listTransactions(gateway.views, visible, page, filter)
    const records = readTogether(gateway.records, list, ({ view }) => view.textRecord)
    return {
      ...describeList('payment.transaction.find_many', page, { ...visible, ...filter }),
      total_count: total,
      list: list.map((stored) => toSimpleTransactionRecord(records, stored)),
    }
  },
})

/** Narrows the list of an environment to the wallet of a key. @throws the error for an unknown wallet or environment */
async function restrictScope({ views }: Gateway, caller: PaymentsCaller, scope: TransactionScope): Promise<TransactionScope> {
  if ('walletId' in scope) await requireWallet(views, caller, scope.walletId)
  else await requireOwnEnvironment(views, caller, scope.environmentId)
  const walletId = caller.key?.walletId ?? null
  return walletId === null ? scope : { walletId }
}
