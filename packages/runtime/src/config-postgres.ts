import { urlOf, variable, whole } from './config-values.ts'
import { z } from 'zod'

/** The variables about PostgreSQL. */
export const postgresVariables = {
  postgresUrl: variable(
    'PENSTOCK_POSTGRES_URL',
    'PostgreSQL of a cluster: postgres://user@host:5432/database, with TLS by sslmode and sslrootcert',
    urlOf('a postgres:// url', /^postgres(ql)?:\/\/./),
    '',
  ),
  postgresPasswordFile: variable(
    'PENSTOCK_POSTGRES_PASSWORD_FILE',
    'file with the password for PostgreSQL, read at every new connection; empty: the one in the url',
    z.string(),
    '',
  ),
  postgresRoles: variable(
    'PENSTOCK_POSTGRES_ROLES',
    "what the names of the database's roles begin with, such as penstock_: each process logs in by the role of its service instead of the url's user, and the job that migrates makes them and gives each its rights; empty: all are the url's user",
    z.string().regex(/^([a-z][a-z0-9_]*)?$/, 'must be of a-z, 0-9 and _'),
    '',
  ),
  postgresRolePasswords: variable(
    'PENSTOCK_POSTGRES_ROLE_PASSWORDS',
    'for the job that migrates: folder with a file for each service that has the password of its role; empty: it sets none',
    z.string(),
    '',
  ),
  postgresConnections: variable(
    'PENSTOCK_POSTGRES_CONNECTIONS',
    'most connections of one process to its read models; as many again, and one more, to an event store in PostgreSQL, and so for a rebuild of read models',
    whole(2, 500),
    '8',
  ),
  postgresTimeoutSeconds: variable(
    'PENSTOCK_POSTGRES_TIMEOUT_SECONDS',
    'longest that PostgreSQL may take for one statement, waiting for locks included',
    whole(1, 600),
    '10',
  ),
}
