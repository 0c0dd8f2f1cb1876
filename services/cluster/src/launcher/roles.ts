import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openSecret } from '@penstock/runtime/secret-file.ts'
import { REPLICATED } from './plan.ts'

/** Those that come to the database by a role of their own: every process that has facts and tables. */
export const ROLES: readonly string[] = [...REPLICATED, 'audit']

export const PREFIX = 'penstock_'

/** A password for each service's role in the database, made at the first start. @returns the folder that they are in */
export async function rolePasswords(folder: string): Promise<string> {
  const secrets = join(folder, 'roles')
  mkdirSync(secrets, { recursive: true })
  for (const name of ROLES) await openSecret(secrets, name)
  return secrets
}

/** What a process alone is told: where the password of its role is. Who has none does not know the database either. */
export const accessOf = (name: string, secrets: string): Readonly<Record<string, string>> =>
  ROLES.includes(name) ? { PENSTOCK_POSTGRES_PASSWORD_FILE: join(secrets, name) } : { PENSTOCK_POSTGRES_URL: '' }
