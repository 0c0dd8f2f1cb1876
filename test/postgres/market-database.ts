import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listProcessPermissions } from '@penstock/cluster/process-permissions.ts'
import { roleNameOf } from '@penstock/adapters/postgres/roles.ts'
import { migrateGateway } from '@penstock/gateway/migrations.ts'
import { migrateCluster } from '@penstock/platforms/cluster.ts'
import type { Views } from '@penstock/ports/views.ts'
import { readConfig } from '@penstock/config/config.ts'
import { migrateOpenStreams } from '@penstock/runtime/processes/open-streams.ts'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { makeUnique, sharedPostgres } from './server.ts'

/** Roles belong to the whole server, so each test file has roles of its own. */
export const TEST_ROLE_PREFIX = `${makeUnique('own')}_`
export const PERMISSION_DENIED = '42501'
export const PROCESS_PERMISSIONS = listProcessPermissions()

/** Creates the services' own tables, as the migration job does. */
async function migrateServices(views: Views): Promise<void> {
  await migrateOpenStreams(views)
  await migrateGateway(views)
}

export type MarketDatabase = {
  /** The URL with which the owner of the tables logs in. */
  readonly owner: string
  /** Migrates as the migration job does at the installation and at each upgrade. */
  readonly migrate: (extraSettings?: NodeJS.ProcessEnv) => Promise<void>
  /** The URL with which the process of a service logs in. */
  readonly getServiceUrl: (service: string) => string
  /** Runs a statement with a service's role. @returns the number of rows, or the SQLSTATE if the server refuses it */
  readonly queryAs: (service: string, text: string, values?: readonly unknown[]) => Promise<string | number | null>
  /** Runs statements as the superuser of the server. @returns the rows of the last statement */
  readonly asSuperuser: (...texts: readonly string[]) => Promise<readonly pg.QueryResultRow[]>
}

/** Migrates a database with a role for each service. @param makeOwner creates the database, and returns the URL of its owner */
export function useMarketDatabase(makeOwner: () => Promise<string>): MarketDatabase {
  let [folder, owner] = ['', '']
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'penstock-roles-'))
    for (const { service } of PROCESS_PERMISSIONS) await writeFile(join(folder, service), `secret of ${service}\n`)
    owner = await makeOwner()
    await migrate()
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const migrate = (extraSettings: NodeJS.ProcessEnv = {}): Promise<void> =>
    migrateCluster(
      readConfig({
        ...extraSettings,
        PENSTOCK_POSTGRES_URL: owner,
        PENSTOCK_POSTGRES_ROLES: TEST_ROLE_PREFIX,
        PENSTOCK_POSTGRES_ROLE_PASSWORDS: folder,
      }),
      migrateServices,
      listProcessPermissions,
    )

  function getServiceUrl(service: string): string {
    const url = new URL(owner)
    url.username = roleNameOf(TEST_ROLE_PREFIX, service)
    url.password = encodeURIComponent(`secret of ${service}`)
    return url.href
  }

  return {
    get owner() {
      return owner
    },
    migrate,
    getServiceUrl,
    async queryAs(service, text, values = []) {
      const client = new pg.Client({ connectionString: getServiceUrl(service) })
      await client.connect()
      try {
        return (await client.query(text, [...values])).rowCount
      } catch (error) {
        if (error instanceof Error && 'code' in error) return String(error.code)
        throw error
      } finally {
        await client.end()
      }
    },
    async asSuperuser(...texts) {
      const client = new pg.Client({ connectionString: sharedPostgres.url(new URL(owner).pathname.slice(1)) })
      await client.connect()
      try {
        let rows: readonly pg.QueryResultRow[] = []
        for (const text of texts) rows = (await client.query<pg.QueryResultRow>(text)).rows
        return rows
      } finally {
        await client.end()
      }
    },
  }
}
