import { join } from 'node:path'

/** A door with TLS and a log-in beside the plain one. Certificate, key and authority are one PEM text. */
export type SecureDoor = {
  readonly pem: string
  /** Who may come in by SCRAM-SHA-512. Without it: OAUTHBEARER with unsigned tokens, which is for tests only. */
  readonly scram?: { readonly user: string; readonly password: string }
}

/**
 * The only door, with a log-in by name and password and rights for each name: nobody else comes in, the brokers and the
 * controllers neither. On loopback, so without TLS.
 */
export type Logins = {
  /** May do everything. */
  readonly granter: { readonly user: string; readonly password: string }
  /** May do what was granted. */
  readonly users: ReadonlyMap<string, string>
}

export type NodePlan = {
  readonly id: number
  readonly dir: string
  readonly port: number
  readonly securePort: number
  readonly controllerPort: number
  readonly voters: string
  readonly count: number
  readonly secure: SecureDoor | undefined
  readonly logins: Logins | undefined
  readonly settings: Readonly<Record<string, string | number>>
}

/** The lines of a node's server.properties: small in memory, quick to come back, on loopback only. */
export function propertiesOf(plan: NodePlan): string {
  const { id, dir, port, controllerPort, voters, count, settings } = plan
  const plain = `PLAINTEXT://127.0.0.1:${port}`
  const enough = Math.min(2, count)
  const lines: Record<string, string | number> = {
    'process.roles': 'broker,controller',
    'node.id': id,
    'controller.quorum.voters': voters,
    'controller.listener.names': 'CONTROLLER',
    listeners: `${plain},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': plain,
    'log.dirs': join(dir, 'data'),
    'auto.create.topics.enable': 'false',
    'default.replication.factor': count,
    'min.insync.replicas': enough,
    'offsets.topic.num.partitions': 3,
    'offsets.topic.replication.factor': count,
    'transaction.state.log.num.partitions': 3,
    'transaction.state.log.replication.factor': count,
    'transaction.state.log.min.isr': enough,
    'share.coordinator.state.topic.num.partitions': 1,
    'share.coordinator.state.topic.replication.factor': count,
    'share.coordinator.state.topic.min.isr': enough,
    'group.initial.rebalance.delay.ms': 0,
    'group.min.session.timeout.ms': 1000,
    // Until the controller's session for a killed broker ends it refuses the restarted one: 9 s by default.
    'broker.session.timeout.ms': 2000,
    'broker.heartbeat.interval.ms': 250,
    // The log cleaner alone takes 128 MiB of heap by default.
    'log.cleaner.dedupe.buffer.size': 4 * 1024 * 1024,
    'num.network.threads': 2,
    'num.io.threads': 2,
    'background.threads': 2,
    ...(plan.secure && secureLines(plan, plan.secure)),
    ...(plan.logins && loginLines(plan, plan.logins)),
    ...settings,
  }
  return Object.entries(lines)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

/** The brokers themselves go on talking to each other by the plain door. */
function secureLines(plan: NodePlan, secure: SecureDoor): Record<string, string | number> {
  const { port, securePort, controllerPort, dir } = plan
  const doors = `PLAINTEXT://127.0.0.1:${port},SASL_SSL://127.0.0.1:${securePort}`
  const mechanism = secure.scram ? 'SCRAM-SHA-512' : 'OAUTHBEARER'
  const door = `listener.name.sasl_ssl.${mechanism.toLowerCase()}`
  const unsigned = 'org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler'
  return {
    listeners: `${doors},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': doors,
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL',
    'inter.broker.listener.name': 'PLAINTEXT',
    'sasl.enabled.mechanisms': mechanism,
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': pemFile(dir),
    ...(secure.scram
      ? { [`${door}.sasl.jaas.config`]: 'org.apache.kafka.common.security.scram.ScramLoginModule required;' }
      : {
          [`${door}.sasl.jaas.config`]: 'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;',
          [`${door}.sasl.server.callback.handler.class`]: unsigned,
          // So short that a test sees a connection log in again.
          [`${door}.connections.max.reauth.ms`]: 12_000,
        }),
  }
}

const PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required'

/** As whom the brokers log in to each other, and whom they let in. */
function jaas({ granter, users }: Logins): string {
  const entries = [[granter.user, granter.password] as const, ...users]
  for (const text of entries.flat())
    if (!/^[\w.-]+$/.test(text)) throw new RangeError('a name or password cannot stand in a JAAS entry')
  const known = entries.map(([user, password]) => `user_${user}="${password}"`)
  return `${ownLogin(granter)} ${known.join(' ')};`
}

const ownLogin = ({ user, password }: Logins['granter']): string => `${PLAIN} username="${user}" password="${password}"`

/** A file for java.security.auth.login.config. @param doors listeners, in lower case */
export const jaasFile = (doors: readonly string[], logins: Logins): string =>
  doors.map((door) => `${door}.KafkaServer {\n  ${jaas(logins)}\n};\n`).join('')

/** Properties for the brokers' own tools. */
export const clientLogin = (granter: Logins['granter']): string =>
  ['security.protocol=SASL_PLAINTEXT', 'sasl.mechanism=PLAIN', `sasl.jaas.config=${ownLogin(granter)};`, ''].join('\n')

function loginLines({ port, controllerPort }: NodePlan, logins: Logins): Record<string, string | number> {
  const door = `SASL_PLAINTEXT://127.0.0.1:${port}`
  return {
    listeners: `${door},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': door,
    'listener.security.protocol.map': 'CONTROLLER:SASL_PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT',
    'inter.broker.listener.name': 'SASL_PLAINTEXT',
    'sasl.enabled.mechanisms': 'PLAIN',
    'sasl.mechanism.inter.broker.protocol': 'PLAIN',
    'sasl.mechanism.controller.protocol': 'PLAIN',
    'listener.name.sasl_plaintext.plain.sasl.jaas.config': jaas(logins),
    'listener.name.controller.plain.sasl.jaas.config': jaas({ ...logins, users: new Map() }),
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': `User:${logins.granter.user}`,
  }
}

export const pemFile = (dir: string): string => join(dir, 'server.pem')
