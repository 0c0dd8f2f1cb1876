import { z } from 'zod'
import { postgresVariables } from './config-postgres.ts'
import { lightningVariables } from './config-lightning.ts'
import { decimal, flag, listOf, oneOf, sat, text, urlOf, variable, whole } from './config-values.ts'

/** Every variable that the service reads. Windows are in seconds in the environment; a name here says its own unit. */
export const variables = {
  port: variable('PORT', 'TCP port of GraphQL, REST and pages; 0 takes a free one', whole(0, 65535), '8080'),
  host: variable('PENSTOCK_HOST', 'address to listen on', text, '127.0.0.1'),
  dataDir: variable(
    'PENSTOCK_DATA_DIR',
    'folder of the databases, keys and the operator token; closed to other users, or the process refuses it',
    text,
    '.penstock',
  ),
  url: variable('PENSTOCK_URL', 'the address that clients and links use; empty: made from host and port', z.string(), ''),
  logLevel: variable(
    'PENSTOCK_LOG_LEVEL',
    'least level that is logged',
    oneOf('debug', 'info', 'warn', 'error', 'silent'),
    'warn',
  ),
  operatorToken: variable(
    'PENSTOCK_OPERATOR_TOKEN',
    'token of operator routes, of 16 characters at least; empty: made at first start in the data folder',
    z.string(),
    '',
  ),
  operatorTokenFile: variable('PENSTOCK_OPERATOR_TOKEN_FILE', 'file with that token, in its stead; empty: none', z.string(), ''),
  healthPort: variable(
    'PENSTOCK_HEALTH_PORT',
    'TCP port of /healthz, /readyz and /metrics of a service that runs as its own process; 0 takes a free one. One process for all services, and a seller-agent, open it only where it is set',
    whole(0, 65535),
    '9090',
  ),
  healthHost: variable(
    'PENSTOCK_HEALTH_HOST',
    'address on which such a service answers there; empty: that of PENSTOCK_HOST',
    z.string(),
    '',
  ),
  instance: variable(
    'PENSTOCK_INSTANCE',
    'name of this process among the replicas of its service; empty: made from host and process id',
    z.string(),
    '',
  ),
  ...postgresVariables,
  eventStore: variable(
    'PENSTOCK_EVENT_STORE',
    'event store of a cluster, a kurrentdb:// or postgres:// url; empty: the PostgreSQL of PENSTOCK_POSTGRES_URL. Of npm start, a kurrentdb:// url; empty: the data folder',
    urlOf('a kurrentdb:// or postgres:// url', /^(kurrentdb(\+discover)?|esdb(\+discover)?|postgres(ql)?):\/\/./),
    '',
  ),
  otlpUrl: variable(
    'PENSTOCK_OTLP_URL',
    'where traces are sent to by OTLP over HTTP, such as http://collector:4318; empty: no traces are made',
    urlOf('an http:// or https:// url', /^https?:\/\/./),
    '',
  ),
  otlpShare: variable(
    'PENSTOCK_OTLP_SHARE',
    'share of the orders that are traced, from 0 to 1; an order is traced by all processes or by none',
    decimal(0, 1),
    '1',
  ),
  eventStorePasswordFile: variable(
    'PENSTOCK_EVENT_STORE_PASSWORD_FILE',
    'file with the password of the user in a kurrentdb:// url, read at every new connection; empty: the one in the url',
    z.string(),
    '',
  ),
  auditUrl: variable(
    'PENSTOCK_AUDIT_URL',
    'where the audit process answers the gateway, in a cluster; empty: audits are not offered',
    z.string(),
    '',
  ),
  auditEveryHours: variable(
    'PENSTOCK_AUDIT_EVERY_HOURS',
    'hours between the audits that the market makes by itself; 0: only those that are asked for',
    whole(0, 720),
    '24',
  ),
  keyringDir: variable(
    'PENSTOCK_KEYRING_DIR',
    'folder with keyring.json, where it is mounted from elsewhere; empty: the data folder',
    z.string(),
    '',
  ),
  sharePort: variable('PENSTOCK_SHARE_PORT', 'replicas of the gateway on one machine share its port', flag, '0'),
  restored: variable(
    'PENSTOCK_RESTORED',
    '1 after a restore of a backup: nothing is decided and no money moves, until it is 0 again (docs/guides/backup.md)',
    flag,
    '0',
  ),
  ...lightningVariables,
  trustProxy: variable(
    'PENSTOCK_TRUST_PROXY',
    'proxies in front of the gateway whose X-Forwarded-For is believed',
    whole(0, 10),
    '0',
  ),

  platformFeePpm: variable(
    'PENSTOCK_PLATFORM_FEE_PPM',
    'platform fee, in parts per million of the capacity',
    whole(0, 1_000_000),
    '500',
  ),
  platformFeeMinSat: variable('PENSTOCK_PLATFORM_FEE_MIN_SAT', 'least platform fee of an order', sat, '100'),
  failoverFeePercent: variable(
    'PENSTOCK_FAILOVER_FEE_PERCENT',
    'share of the platform fee that a dearer seller may have when it steps in for another',
    whole(0, 100),
    '80',
  ),
  routingFeeLimitPpm: variable(
    'PENSTOCK_ROUTING_FEE_LIMIT_PPM',
    'most that a payout may cost on its way, of the payout; never above the platform fee',
    whole(0, 1_000_000),
    '5000',
  ),

  buyAnswerSeconds: variable(
    'PENSTOCK_BUY_ANSWER_SECONDS',
    'within which `buy` answers or withdraws the order',
    whole(1, 60),
    '10',
  ),
  buyPerMinute: variable(
    'PENSTOCK_BUY_PER_MINUTE',
    '`buy` and create_order per minute and address; 0 is off',
    whole(0, 1_000_000),
    '10',
  ),
  dashboardPerMinute: variable(
    'PENSTOCK_DASHBOARD_PER_MINUTE',
    'dashboard operations per minute and user; 0 is off',
    whole(0, 1_000_000),
    '60',
  ),
  orderPollsPerMinute: variable(
    'PENSTOCK_ORDER_POLLS_PER_MINUTE',
    'get_order per minute, order and address; 0 is off, and a fast poll costs little',
    whole(0, 1_000_000),
    '0',
  ),
  loginPerMinute: variable(
    'PENSTOCK_LOGIN_PER_MINUTE',
    'per minute, by address: sign-ups, failed log-ins at one account, and ten times as many log-ins; 0 is off',
    whole(0, 1_000_000),
    '10',
  ),
  ordersPerDestination: variable(
    'PENSTOCK_ORDERS_PER_DESTINATION',
    'unpaid and held orders per destination node; 0 is off',
    whole(0, 1_000_000),
    '10',
  ),
  ordersPerIp: variable('PENSTOCK_ORDERS_PER_IP', 'unpaid and held orders per address; 0 is off', whole(0, 1_000_000), '20'),
  heldPerPeer: variable('PENSTOCK_HELD_PER_PEER', 'held HTLCs per channel peer of our node; 0 is off', whole(0, 1_000_000), '50'),

  invoiceExpirySeconds: variable('PENSTOCK_INVOICE_EXPIRY_SECONDS', 'how long a payment may start', whole(10, 86_400), '3600'),
  approvalWindowSeconds: variable(
    'PENSTOCK_APPROVAL_WINDOW_SECONDS',
    'how long a seller may take to accept an order on a named offer',
    whole(1, 604_800),
    '86400',
  ),
  openWindowSeconds: variable(
    'PENSTOCK_OPEN_WINDOW_SECONDS',
    'how long an attempt may take to name its funding outpoint',
    whole(1, 86_400),
    '21600',
  ),
  maxAttempts: variable('PENSTOCK_MAX_ATTEMPTS', 'sellers that are tried under one payment', whole(1, 10), '3'),
  requiredConfirmations: variable(
    'PENSTOCK_REQUIRED_CONFIRMATIONS',
    'confirmations before a channel counts as open',
    whole(1, 100),
    '3',
  ),
  fundingSeenBlocks: variable(
    'PENSTOCK_FUNDING_SEEN_BLOCKS',
    'blocks within which a named transaction must be seen; at least 36 where the chain source sees no mempool',
    whole(1, 144),
    '6',
  ),
  fundingConfirmsWithinBlocks: variable(
    'PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS',
    'blocks within which it must confirm, and the least that get_info offers',
    whole(1, 144),
    '6',
  ),
  payoutConfirmations: variable('PENSTOCK_PAYOUT_CONFIRMATIONS', 'confirmations before a seller is paid', whole(1, 144), '6'),
  withheldBlocks: variable(
    'PENSTOCK_WITHHELD_BLOCKS',
    'blocks for which a cause withholds a payout at most, before its own rule or an operator decides',
    whole(1, 10_000),
    '1008',
  ),
  leaseBlocks: variable('PENSTOCK_LEASE_BLOCKS', 'how long a channel bought by `buy` must stay open', whole(1, 100_000), '4320'),
  staleTipSeconds: variable(
    'PENSTOCK_STALE_TIP_SECONDS',
    'age of the newest block that stops new holds; 0 is off, and so it is on regtest and the simulated network',
    whole(0, 86_400),
    '7200',
  ),

  rateMaxAgeSeconds: variable('PENSTOCK_RATE_MAX_AGE_SECONDS', 'age of a rate that stops new quotes', whole(1, 86_400), '300'),
  rateSpreadPercent: variable(
    'PENSTOCK_RATE_SPREAD_PERCENT',
    'difference between sources that stops new quotes',
    decimal(0, 100),
    '2',
  ),
  rateSources: variable(
    'PENSTOCK_RATE_SOURCES',
    'sources of the dollar rate, by comma: kraken, coinbase, bitstamp, mempool; where there are more than one, two have to answer; asked on signet, testnet and mainnet only',
    listOf('kraken', 'coinbase', 'bitstamp', 'mempool'),
    'kraken,coinbase,bitstamp',
  ),
  simCentsPerBtc: variable(
    'PENSTOCK_SIM_CENTS_PER_BTC',
    'the fixed rate of the simulated network and of regtest, in dollar cents',
    whole(1, 999_999_999_999),
    '10000000',
  ),
  newSellerCapSat: variable(
    'PENSTOCK_NEW_SELLER_CAP_SAT',
    'most capacity that counts from a seller without a finished sale; 0 is off',
    sat,
    '500000000',
  ),
  liveSeconds: variable(
    'PENSTOCK_LIVE_SECONDS',
    'how long after its last attestation a seller counts as live',
    whole(2, 3600),
    '30',
  ),
  railsScore: variable(
    'PENSTOCK_RAILS_SCORE',
    'score, from 0 to 1, from which a live seller is in the rails cluster',
    decimal(0, 1),
    '0.95',
  ),
  maxChannelExpiryBlocks: variable(
    'PENSTOCK_MAX_CHANNEL_EXPIRY_BLOCKS',
    'longest lease that LSPS1 offers',
    whole(13_140, 105_120),
    '13140',
  ),
  dashboardTokenDays: variable('PENSTOCK_DASHBOARD_TOKEN_DAYS', 'how long a log-in lasts', whole(1, 365), '30'),

  simBlockSeconds: variable(
    'PENSTOCK_SIM_BLOCK_SECONDS',
    'time between blocks of the simulated network; 0: only by hand',
    decimal(0, 3600),
    '5',
  ),
  queryDepth: variable('PENSTOCK_QUERY_DEPTH', 'deepest GraphQL selection', whole(3, 100), '14'),
  queryCost: variable(
    'PENSTOCK_QUERY_COST',
    'most that a GraphQL document may cost: a point a field, times the page for lists',
    whole(10, 1_000_000),
    '5000',
  ),
  allowHttpRedirect: variable(
    'PENSTOCK_ALLOW_LOCALHOST_REDIRECT',
    'allow redirect URLs to localhost over plain http, for development',
    flag,
    '0',
  ),

  kafkaBrokers: variable('PENSTOCK_KAFKA_BROKERS', 'brokers of the cluster, as host:port, …', z.string(), ''),
  kafkaPrefix: variable(
    'PENSTOCK_KAFKA_PREFIX',
    'stands before the names of topics and consumer groups',
    z.string().regex(/^[\w.-]{0,100}$/, 'letters, digits, dots, dashes and underscores'),
    'penstock.',
  ),
  kafkaPartitions: variable(
    'PENSTOCK_KAFKA_PARTITIONS',
    'partitions of a topic that is made: the most replicas of a service that share its work; a topic that exists is never changed',
    whole(1, 1000),
    '12',
  ),
  kafkaReplicas: variable(
    'PENSTOCK_KAFKA_REPLICAS',
    'copies of each message on different brokers; from 3 on, two must have a message before it counts',
    whole(1, 7),
    '3',
  ),
  kafkaRetentionHours: variable(
    'PENSTOCK_KAFKA_RETENTION_HOURS',
    'how long messages are kept in a topic that is made; no consumer may be away for longer',
    whole(1, 87_600),
    '168',
  ),
  kafkaSessionSeconds: variable(
    'PENSTOCK_KAFKA_SESSION_SECONDS',
    'how long a replica may be silent before its partitions are given to others; brokers refuse less than their group.min.session.timeout.ms, which is 6 s unless they say otherwise',
    whole(1, 300),
    '10',
  ),
  kafkaTls: variable('PENSTOCK_KAFKA_TLS', 'connect to the brokers by TLS', flag, '0'),
  kafkaCaFile: variable('PENSTOCK_KAFKA_CA_FILE', "certificate that signed the brokers'; empty: the system's", z.string(), ''),
  kafkaCertFile: variable('PENSTOCK_KAFKA_CERT_FILE', 'own certificate, where the brokers ask for one', z.string(), ''),
  kafkaKeyFile: variable('PENSTOCK_KAFKA_KEY_FILE', 'key of the own certificate', z.string(), ''),
  kafkaSasl: variable(
    'PENSTOCK_KAFKA_SASL',
    'how to log in to the brokers: none, plain (which sends the password as it is, so with TLS or on loopback only), scram-sha-256, scram-sha-512 or oauthbearer',
    oneOf('none', 'plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'),
    'none',
  ),
  kafkaUser: variable('PENSTOCK_KAFKA_USER', 'user of plain and SCRAM, or client id of PENSTOCK_KAFKA_TOKEN_URL', z.string(), ''),
  kafkaUsers: variable(
    'PENSTOCK_KAFKA_USERS',
    "what the names of the brokers' users begin with, such as penstock_: each process logs in by the user of its service, and the job that migrates gives each its rights at topics and groups; empty: all are PENSTOCK_KAFKA_USER",
    z.string().regex(/^([A-Za-z0-9][\w.-]{0,60})?$/, 'letters, digits, dots, dashes and underscores'),
    '',
  ),
  kafkaPasswordFile: variable(
    'PENSTOCK_KAFKA_PASSWORD_FILE',
    'file with the password of plain and SCRAM, or the client secret of PENSTOCK_KAFKA_TOKEN_URL',
    z.string(),
    '',
  ),
  kafkaTokenFile: variable(
    'PENSTOCK_KAFKA_TOKEN_FILE',
    'file with the token of oauthbearer, read again at every log-in',
    z.string(),
    '',
  ),
  kafkaTokenUrl: variable(
    'PENSTOCK_KAFKA_TOKEN_URL',
    'where a token of oauthbearer is fetched, by the client credentials grant',
    z.string(),
    '',
  ),
} as const

type Variables = typeof variables
/** The configuration in force: validated, and never changed while the process lives. */
export type Config = { readonly [K in keyof Variables]: z.output<Variables[K]['schema']> }

/** All that is wrong with the environment, at once. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** A wrong url is shown, the password in it is not. */
const withoutPassword = (value: string | undefined): string => String(value).replace(/\/\/[^/]*@/, '//…@')

/**
 * @param env as in `process.env`
 * @throws ConfigError with a line for each fault
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const faults: string[] = []
  const values = Object.entries(variables).map(([key, { name, schema, standard }]) => {
    const parsed = schema.safeParse(env[name] ?? standard)
    if (!parsed.success) faults.push(`${name} is "${withoutPassword(env[name])}"; it must be ${parsed.error.issues[0]?.message}.`)
    return [key, parsed.data] as const
  })
  if (faults.length > 0)
    throw new ConfigError(`The configuration cannot be used:\n${faults.map((fault) => `  ${fault}`).join('\n')}`)
  return Object.fromEntries(values) as Config // every key of the table is there, each parsed by its own schema
}

/** Names that look like settings and are none: most likely typing errors, to be shown at start. */
export function unknownSettings(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const known = new Set<string>(Object.values(variables).map(({ name }) => name))
  return Object.keys(env).filter((name) => name.startsWith('PENSTOCK_') && !name.startsWith('PENSTOCK_TEST_') && !known.has(name))
}
