import { type Json, filterObjects } from '../../json.ts'
import { getValueAt, getTextAt } from '../market/load-market.ts'

/** Sums the entries of one account in an order's ledger. @param report the operator's report of the order */
export const sumLedgerAccountMsat = (report: Json, account: string): bigint =>
  filterObjects(getValueAt(report, 'ledger'))
    .flatMap((posting) => filterObjects(getValueAt(posting, 'entries')))
    .filter((entry) => getValueAt(entry, 'account') === account)
    .reduce((sum, entry) => sum + BigInt(getTextAt(entry, 'amountMsat')), 0n)
