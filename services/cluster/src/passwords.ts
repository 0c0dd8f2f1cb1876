import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { userOf } from '@penstock/platforms/kafka-users.ts'
import { openSecret } from '@penstock/runtime/secret-file.ts'
import { clientLogin, jaasFile } from '@penstock/servers/kafka-settings.ts'
import { GRANTER, PREFIX, ROLES } from './launcher/roles.ts'

/**
 * Makes the passwords of docker-compose.yml at the first start: the owner's of the database, for each service one there and
 * one at the brokers, and the operators' token. Each folder is a volume of its own, so that each process mounts its own.
 */
const root = process.argv[2] ?? '/run/secrets'
const kafkaPassword = async (folder: string, name: string): Promise<string> =>
  Buffer.from(await openSecret(join(root, folder), name)).toString('hex')

await openSecret(join(root, 'postgres'), 'password')
await openSecret(join(root, 'operator'), 'token')
for (const role of ROLES) await openSecret(join(root, 'roles', role), 'password')
const granter = { user: GRANTER, password: await kafkaPassword('granter', 'password') }
const users = new Map<string, string>()
for (const role of ROLES) users.set(userOf(PREFIX, role), await kafkaPassword(join('roles', role), 'kafka'))
// The brokers read them at their start; made anew each time, since a release may add a service.
const own = { mode: 0o600, flush: true }
await writeFile(join(root, 'kafka', 'jaas.conf'), jaasFile(['sasl_plaintext', 'controller'], { granter, users }), own)
await writeFile(join(root, 'kafka', 'client.properties'), clientLogin(granter), own)
