import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { kafkaUserOf } from '@penstock/config/kafka-users.ts'
import { openSecret } from '@penstock/config/secret-file.ts'
import { renderClientLogin, renderJaasFile } from '@penstock/servers/kafka-settings.ts'
import { loginNames } from '@penstock/standalone/registry.ts'
import { createVault } from '@penstock/platforms/vault.ts'
import { KAFKA_ADMIN, SERVICE_ROLE_PREFIX } from './launcher/roles.ts'

/**
 * Creates the passwords of docker-compose.yml at the first start: one for the database owner, two per service (database and
 * brokers), the operators' token and the keys of the vault. Each folder is a separate volume, so that a process mounts only its own passwords.
 */
const root = process.argv[2] ?? '/run/secrets'
const kafkaPassword = async (folder: string, name: string): Promise<string> =>
  Buffer.from(await openSecret(join(root, folder), name)).toString('hex')

await openSecret(join(root, 'postgres'), 'password')
await openSecret(join(root, 'operator'), 'token')
createVault(join(root, 'vault'), join(root, 'vault-public'))
for (const role of loginNames) await openSecret(join(root, 'roles', role), 'password')
const granter = { user: KAFKA_ADMIN, password: await kafkaPassword('granter', 'password') }
const users = new Map<string, string>()
for (const role of loginNames)
  users.set(kafkaUserOf(SERVICE_ROLE_PREFIX, role), await kafkaPassword(join('roles', role), 'kafka'))
// The brokers read these files at their start. They are written at every start, because a release may add a service.
const fileOptions = { mode: 0o600, flush: true }
// A login at the controllers' listener may change metadata, so services have none there.
const listeners = { sasl_plaintext: { granter, users }, controller: { granter, users: new Map<string, string>() } }
await writeFile(join(root, 'kafka', 'jaas.conf'), renderJaasFile(listeners), fileOptions)
await writeFile(join(root, 'kafka', 'client.properties'), renderClientLogin(granter), fileOptions)
