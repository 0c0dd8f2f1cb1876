import { type RawBuilder, sql } from 'kysely'

/** Milliseconds since 1970 by the server's clock, at the moment of the statement: replicas' own clocks differ. */
export const serverTime = (): RawBuilder<number> => sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`
