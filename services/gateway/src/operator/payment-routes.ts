import { transactionStatuses } from '@penstock/contracts/payments/lifecycle.ts'
import { Router } from 'express'
import { z } from 'zod'
import { OperatorError, parseOperatorBody, parseTransactionId, respondWithJson } from './http.ts'
import type { TransactionReportFilter } from './payment-report.ts'

export type PaymentPorts = {
  readonly listTransactions: (filter: TransactionReportFilter) => Promise<object>
  /** Reads the operator's report of any transaction; undefined for an unknown id. */
  readonly readTransaction: (id: string) => Promise<object | undefined>
}

const uuid = z.uuid('a UUID').toLowerCase()
const listQuery = z.strictObject({
  environment: uuid.optional(),
  wallet: uuid.optional(),
  status: z.string().toUpperCase().pipe(z.enum(transactionStatuses)).optional(),
})

/** Creates the routes that list and show transactions of all teams. */
export function createPaymentRouter({ listTransactions, readTransaction }: PaymentPorts): Router {
  const router = Router()
  router.get(
    '/',
    respondWithJson(({ query }) => {
      const { environment, wallet, status } = parseOperatorBody(listQuery, query)
      return listTransactions({ environmentId: environment, walletId: wallet, status })
    }),
  )
  router.get(
    '/:id',
    respondWithJson(async ({ params }) => {
      const report = await readTransaction(parseTransactionId(params))
      if (!report) throw new OperatorError(404, 'There is no transaction with this id.')
      return report
    }),
  )
  return router
}
