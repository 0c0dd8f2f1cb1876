import { invalidInput } from '../../errors.ts'
import type { TransactionQueriesFindOneArgs } from '../../generated/schema-types.ts'
import { parseId } from '../../input.ts'
import { query } from '../../use-case.ts'
import { permitted } from '../access.ts'
import { paymentsLimit } from '../limits.ts'
import { parseHashField } from '../input.ts'
import { requireTransaction, requireTransactionByHash } from '../read/transactions.ts'
import { toTransactionRecord } from '../records/transaction-record.ts'

function parseReference({ id, lightning }: TransactionQueriesFindOneArgs): { id: string } | { paymentHash: string } {
  if ((typeof id === 'string') === Boolean(lightning)) throw invalidInput('Name exactly one of id and lightning')
  if (typeof id === 'string') return { id: parseId(id) }
  return { paymentHash: parseHashField(lightning?.payment_hash ?? '', 'lightning.payment_hash') }
}

export const getTransaction = query({
  path: 'payment.transaction.find_one',
  limit: paymentsLimit,
  access: permitted('PAYMENTS', 'READ'),
  input: parseReference,
  run: async (reference, { gateway, caller }) => {
    const found =
      'id' in reference
        ? await requireTransaction(gateway.views, caller, reference.id)
        : await requireTransactionByHash(gateway.views, caller, reference.paymentHash)
    return toTransactionRecord(gateway, found)
  },
})
