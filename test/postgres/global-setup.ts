import { startPostgres } from '@penstock/servers/postgres.ts'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** A superuser's URL of the server that the test files share. */
    postgresUrl: string
  }
}

/** Starts one server for all test files. @returns a function that stops it after the last file */
export default async function startSharedServer(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres()
  project.provide('postgresUrl', server.url())
  return () => server.stop()
}
