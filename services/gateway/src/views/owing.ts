import { sql } from 'kysely'

/**
 * A row of holds of which something is owed, by the text of its view, which `Owed` gives this order of members. The index and
 * who reads by it have these very words; a column would be wrong where a process of the release before writes beside us.
 */
export const isOwingRow = sql<boolean>`${sql.ref('view')} like '%"owed":{%' and ${sql.ref('view')} not like '%"amountMsat":"0","creditor":%'`
