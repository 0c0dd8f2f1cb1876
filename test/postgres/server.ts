import { randomBytes } from 'node:crypto'
import { openPostgresDatabases, type PostgresDatabases, type PostgresServer, startPostgres } from '@penstock/servers/postgres.ts'
import { inject } from 'vitest'
import { useServer } from '../support/use-server.ts'

/** The server that the test files share. A file creates databases and roles of its own, and changes nothing else. */
export const sharedPostgres: PostgresDatabases = openPostgresDatabases(inject('postgresUrl'))

/** Adds a random suffix to the name of a database or a role, so that no other run of a test file has the same name. */
export const makeUnique = (name: string): string => `${name}_${randomBytes(4).toString('hex')}`

/**
 * Starts a server for the tests of one file that stop, pause or configure it.
 * @param settings additional settings of the server
 */
export const useOwnPostgresServer = (settings: Readonly<Record<string, string | number>> = {}): (() => PostgresServer) =>
  useServer(() => startPostgres({ settings }))
