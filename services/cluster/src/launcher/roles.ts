import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { userOf } from '@penstock/platforms/kafka-users.ts'
import { openSecret } from '@penstock/runtime/secret-file.ts'
import type { Logins } from '@penstock/servers/kafka-settings.ts'
import { REPLICATED } from './plan.ts'

/** Those that come to the servers by a name of their own: every process that has facts, tables and messages. */
export const ROLES: readonly string[] = [...REPLICATED, 'audit']

export const PREFIX = 'penstock_'

/** Who gives the others their rights at the brokers. */
export const GRANTER = 'penstock'

/** Folders with a file for each service: its password in the database, and that at the brokers. */
export type Secrets = { readonly roles: string; readonly users: string }

/** Passwords of all services, made at the first start. @returns also whom the brokers let in */
export async function openSecrets(folder: string): Promise<Secrets & { readonly logins: Logins }> {
  const [roles, users] = [join(folder, 'roles'), join(folder, 'kafka-users')]
  for (const place of [roles, users]) mkdirSync(place, { recursive: true })
  for (const name of ROLES) await openSecret(roles, name)
  const password = async (name: string): Promise<string> => Buffer.from(await openSecret(users, name)).toString('hex')
  const granter = { user: GRANTER, password: await password(GRANTER) }
  const named = await Promise.all(ROLES.map(async (name) => [userOf(PREFIX, name), await password(name)] as const))
  return { roles, users, logins: { granter, users: new Map(named) } }
}

/** Of whoever may do everything at the brokers. */
export const granterLogin = ({ logins: { granter } }: { readonly logins: Logins }) =>
  ({ mechanism: 'plain', username: granter.user, password: granter.password }) as const

/** What the job that migrates is told: it makes the roles of the database, and grants the users of the brokers their rights. */
export const migrating = ({ roles, users }: Secrets): Readonly<Record<string, string>> => ({
  PENSTOCK_POSTGRES_ROLE_PASSWORDS: roles,
  PENSTOCK_KAFKA_USER: GRANTER,
  PENSTOCK_KAFKA_PASSWORD_FILE: join(users, GRANTER),
})

/** What a process alone is told: where its passwords are. Who has none does not know the servers either. */
export const accessOf = (name: string, { roles, users }: Secrets): Readonly<Record<string, string>> =>
  ROLES.includes(name)
    ? { PENSTOCK_POSTGRES_PASSWORD_FILE: join(roles, name), PENSTOCK_KAFKA_PASSWORD_FILE: join(users, name) }
    : { PENSTOCK_POSTGRES_URL: '', PENSTOCK_KAFKA_BROKERS: '' }
