import { z } from 'zod'
import { serverUrl } from './address-schemas.ts'
import { defineVariable, wholeNumberIn } from './value-schemas.ts'

/** Settings for the access to PostgreSQL. */
export const postgresVariables = {
  postgresUrl: defineVariable(
    'PENSTOCK_POSTGRES_URL',
    'PostgreSQL of a cluster: postgres://user@host:5432/database; sslmode and sslrootcert in the url set up TLS',
    serverUrl({ kind: 'a postgres:// url', schemes: ['postgres', 'postgresql'], mayHaveQuery: true }),
    '',
  ),
  postgresPasswordFile: defineVariable(
    'PENSTOCK_POSTGRES_PASSWORD_FILE',
    'file with the password for PostgreSQL, read at every new connection; empty: the password in the url',
    z.string(),
    '',
  ),
  postgresRoles: defineVariable(
    'PENSTOCK_POSTGRES_ROLES',
    "prefix of the services' database roles, such as penstock_. Each process logs in as the role of its service instead of the url's user. The migration job creates the roles and grants each its rights. Empty: all processes log in as the url's user",
    z.string().regex(/^([a-z][a-z0-9_]*)?$/, 'empty, or a name of a-z, 0-9 and _ that begins with a letter'),
    '',
  ),
  postgresRolePasswords: defineVariable(
    'PENSTOCK_POSTGRES_ROLE_PASSWORDS',
    'for the migration job: folder with one file per service, which contains the password of its role; empty: the job sets no passwords',
    z.string(),
    '',
  ),
  postgresConnections: defineVariable(
    'PENSTOCK_POSTGRES_CONNECTIONS',
    'maximum number of connections of one process to its read models. An event store in PostgreSQL uses up to the same number again, plus one. A rebuild of read models does too',
    wholeNumberIn(2, 500),
    '8',
  ),
  postgresTimeoutSeconds: defineVariable(
    'PENSTOCK_POSTGRES_TIMEOUT_SECONDS',
    'maximum time of one PostgreSQL statement, in seconds, including its waits for locks',
    wholeNumberIn(1, 600),
    '10',
  ),
}
