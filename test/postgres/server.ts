import { type PostgresServer, startPostgres } from '@penstock/servers/postgres.ts'
import { useServer } from '../support/use-server.ts'

/** Starts a server for the tests of one file. @param settings additional settings of the server */
export const usePostgresServer = (settings: Readonly<Record<string, string | number>> = {}): (() => PostgresServer) =>
  useServer(() => startPostgres({ settings }))
