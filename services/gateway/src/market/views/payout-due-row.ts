import { sql } from 'kysely'

/**
 * Selects the holds with an amount due by the JSON text of `view`, in which `PayoutDue` has this order of members. The index and
 * its queries must use exactly this expression. A process of the previous release would not update a separate column.
 */
export const isPayoutDueRow = sql<boolean>`${sql.ref('view')} like '%"owed":{%' and ${sql.ref('view')} not like '%"amountMsat":"0","creditor":%'`
