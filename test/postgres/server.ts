import { type PostgresServer, startPostgres } from '@penstock/servers/postgres.ts'
import { afterAll, beforeAll } from 'vitest'

/** A server for the file's tests. @param settings of the server, beside the standard ones */
export function aServer(settings: Readonly<Record<string, string | number>> = {}): () => PostgresServer {
  let server: PostgresServer | undefined
  beforeAll(async () => {
    server = await startPostgres({ settings })
  })
  afterAll(() => server?.stop())
  return () => {
    if (!server) throw new Error('the server is started before the first test')
    return server
  }
}
