import { type RawBuilder, sql } from 'kysely'

/** Milliseconds since 1970 by the server's clock at the time of the statement, because the clocks of replicas differ. */
export const serverTime = (): RawBuilder<number> => sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`
