import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { kafkaUserOf } from '@penstock/config/kafka-users.ts'
import { openSecret } from '@penstock/config/secret-file.ts'
import type { KafkaLogins } from '@penstock/servers/kafka-settings.ts'
import { loginNames } from '@penstock/standalone/registry.ts'

export const SERVICE_ROLE_PREFIX = 'penstock_'

/** The broker user that grants all other users their rights. */
export const KAFKA_ADMIN = 'penstock'

/** Folders with one file per service: `roles` contains the database passwords, `users` the broker passwords. */
export type Secrets = { readonly roles: string; readonly users: string }

/** Creates the passwords of all services at the first start. @returns their folders, and the logins that the brokers accept */
export async function openSecrets(folder: string): Promise<Secrets & { readonly logins: KafkaLogins }> {
  const [roles, users] = [join(folder, 'roles'), join(folder, 'kafka-users')]
  for (const folderOfSecrets of [roles, users]) mkdirSync(folderOfSecrets, { recursive: true })
  for (const name of loginNames) await openSecret(roles, name)
  const password = async (name: string): Promise<string> => Buffer.from(await openSecret(users, name)).toString('hex')
  const granter = { user: KAFKA_ADMIN, password: await password(KAFKA_ADMIN) }
  const userPasswords = await Promise.all(
    loginNames.map(async (name) => [kafkaUserOf(SERVICE_ROLE_PREFIX, name), await password(name)] as const),
  )
  return { roles, users, logins: { granter, users: new Map(userPasswords) } }
}

/** The login of the brokers' administrator. */
export const kafkaAdminLogin = ({ logins: { granter } }: { readonly logins: KafkaLogins }) =>
  ({ mechanism: 'plain', username: granter.user, password: granter.password }) as const

/** Settings of the migration job, which creates the database roles and grants the broker users their rights. */
export const migrationEnv = ({ roles, users }: Secrets): Readonly<Record<string, string>> => ({
  PENSTOCK_POSTGRES_ROLE_PASSWORDS: roles,
  PENSTOCK_KAFKA_USER: KAFKA_ADMIN,
  PENSTOCK_KAFKA_PASSWORD_FILE: join(users, KAFKA_ADMIN),
})

/** Settings of one process: the files of its passwords. A process without a login gets empty server addresses instead. */
export const accessEnv = (name: string, { roles, users }: Secrets): Readonly<Record<string, string>> =>
  loginNames.includes(name)
    ? { PENSTOCK_POSTGRES_PASSWORD_FILE: join(roles, name), PENSTOCK_KAFKA_PASSWORD_FILE: join(users, name) }
    : { PENSTOCK_POSTGRES_URL: '', PENSTOCK_KAFKA_BROKERS: '' }
