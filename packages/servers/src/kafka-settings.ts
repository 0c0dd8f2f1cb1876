import { join } from 'node:path'

/** A listener with TLS and a log-in, in addition to the plain listener. Certificate, key and authority are one PEM text. */
export type SecureListener = {
  readonly pem: string
  /** The user that may log in by SCRAM-SHA-512. Without it: OAUTHBEARER with unsigned tokens, which is for tests only. */
  readonly scram?: { readonly user: string; readonly password: string }
}

/**
 * Log-ins by name and password for the only listener, with rights for each name. The brokers and the controllers must log in,
 * too. The listener is on loopback, so it has no TLS.
 */
export type KafkaLogins = {
  /** This user may do everything. */
  readonly granter: { readonly user: string; readonly password: string }
  /** Passwords by user. These users may do only what was granted. */
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
  readonly secure: SecureListener | undefined
  readonly logins: KafkaLogins | undefined
  readonly settings: Readonly<Record<string, string | number>>
}

/** Renders a node's server.properties, for little memory, fast restarts and only loopback. */
export function renderProperties(plan: NodePlan): string {
  const { id, dir, port, controllerPort, voters, count, settings } = plan
  const plain = `PLAINTEXT://127.0.0.1:${port}`
  const minInSync = Math.min(2, count)
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
    'min.insync.replicas': minInSync,
    'offsets.topic.num.partitions': 3,
    'offsets.topic.replication.factor': count,
    'transaction.state.log.num.partitions': 3,
    'transaction.state.log.replication.factor': count,
    'transaction.state.log.min.isr': minInSync,
    'share.coordinator.state.topic.num.partitions': 1,
    'share.coordinator.state.topic.replication.factor': count,
    'share.coordinator.state.topic.min.isr': minInSync,
    'group.initial.rebalance.delay.ms': 0,
    'group.min.session.timeout.ms': 1000,
    // The controller refuses a restarted broker until the session of the killed broker ends, by default after 9 s.
    'broker.session.timeout.ms': 2000,
    'broker.heartbeat.interval.ms': 250,
    // The log cleaner alone takes 128 MiB of heap by default.
    'log.cleaner.dedupe.buffer.size': 4 * 1024 * 1024,
    'num.network.threads': 2,
    'num.io.threads': 2,
    'background.threads': 2,
    ...(plan.secure && secureListenerProperties(plan, plan.secure)),
    ...(plan.logins && loginProperties(plan, plan.logins)),
    ...settings,
  }
  return Object.entries(lines)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

/** The brokers still use the plain listener among themselves. */
function secureListenerProperties(plan: NodePlan, secure: SecureListener): Record<string, string | number> {
  const { port, securePort, controllerPort, dir } = plan
  const listeners = `PLAINTEXT://127.0.0.1:${port},SASL_SSL://127.0.0.1:${securePort}`
  const mechanism = secure.scram ? 'SCRAM-SHA-512' : 'OAUTHBEARER'
  const prefix = `listener.name.sasl_ssl.${mechanism.toLowerCase()}`
  const unsigned = 'org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler'
  return {
    listeners: `${listeners},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': listeners,
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL',
    'inter.broker.listener.name': 'PLAINTEXT',
    'sasl.enabled.mechanisms': mechanism,
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': pemPath(dir),
    ...(secure.scram
      ? { [`${prefix}.sasl.jaas.config`]: 'org.apache.kafka.common.security.scram.ScramLoginModule required;' }
      : {
          [`${prefix}.sasl.jaas.config`]: 'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;',
          [`${prefix}.sasl.server.callback.handler.class`]: unsigned,
          // Short enough for a test to see that a connection logs in again.
          [`${prefix}.connections.max.reauth.ms`]: 12_000,
        }),
  }
}

const PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required'

/** Renders the brokers' own log-in and the users that they accept. */
function renderJaas({ granter, users }: KafkaLogins): string {
  const entries = [[granter.user, granter.password] as const, ...users]
  for (const text of entries.flat())
    if (!/^[\w.-]+$/.test(text)) throw new RangeError('a JAAS entry cannot contain this name or password')
  const known = entries.map(([user, password]) => `user_${user}="${password}"`)
  return `${renderLogin(granter)} ${known.join(' ')};`
}

const renderLogin = ({ user, password }: KafkaLogins['granter']): string => `${PLAIN} username="${user}" password="${password}"`

/** A file for java.security.auth.login.config. @param listeners accepted log-ins by the listener's name in lower case */
export const renderJaasFile = (listeners: Readonly<Record<string, KafkaLogins>>): string =>
  Object.entries(listeners)
    .map(([listener, logins]) => `${listener}.KafkaServer {\n  ${renderJaas(logins)}\n};\n`)
    .join('')

/** Properties for the brokers' own tools. */
export const renderClientLogin = (granter: KafkaLogins['granter']): string =>
  ['security.protocol=SASL_PLAINTEXT', 'sasl.mechanism=PLAIN', `sasl.jaas.config=${renderLogin(granter)};`, ''].join('\n')

function loginProperties({ port, controllerPort }: NodePlan, logins: KafkaLogins): Record<string, string | number> {
  const listener = `SASL_PLAINTEXT://127.0.0.1:${port}`
  return {
    listeners: `${listener},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': listener,
    'listener.security.protocol.map': 'CONTROLLER:SASL_PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT',
    'inter.broker.listener.name': 'SASL_PLAINTEXT',
    'sasl.enabled.mechanisms': 'PLAIN',
    'sasl.mechanism.inter.broker.protocol': 'PLAIN',
    'sasl.mechanism.controller.protocol': 'PLAIN',
    'listener.name.sasl_plaintext.plain.sasl.jaas.config': renderJaas(logins),
    'listener.name.controller.plain.sasl.jaas.config': renderJaas({ ...logins, users: new Map() }),
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': `User:${logins.granter.user}`,
  }
}

export const pemPath = (dir: string): string => join(dir, 'server.pem')
