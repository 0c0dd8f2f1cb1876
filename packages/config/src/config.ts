import { ConfigError } from './config-error.ts'
import { z } from 'zod'
import { serverUrl, webAddress } from './address-schemas.ts'
import { kafkaVariables } from './kafka-variables.ts'
import { paymentsVariables } from './payments-variables.ts'
import { postgresVariables } from './postgres-variables.ts'
import { lightningVariables } from './lightning-variables.ts'
import { decimalIn, flag, commaListOf, oneOf, sat, nonEmptyText, defineVariable, wholeNumberIn } from './value-schemas.ts'

const kurrentSchemes = ['kurrentdb', 'kurrentdb+discover', 'esdb', 'esdb+discover']

/** Every environment variable that a process reads. The name of a duration ends in its unit. */
export const variables = {
  port: defineVariable('PORT', 'TCP port of GraphQL, REST and the pages; 0: a free port', wholeNumberIn(0, 65535), '8080'),
  host: defineVariable('PENSTOCK_HOST', 'address to listen on', nonEmptyText, '127.0.0.1'),
  dataDir: defineVariable(
    'PENSTOCK_DATA_DIR',
    'folder of the databases, the keys and the operator token; if other users have access to it, the process does not start',
    nonEmptyText,
    '.penstock',
  ),
  publicUrl: defineVariable(
    'PENSTOCK_PUBLIC_URL',
    'public address of the market, which its links contain. A proxy has to remove its path, if it has one. Empty: made from host and port',
    webAddress(),
    '',
  ),
  marketUrl: defineVariable('PENSTOCK_MARKET_URL', "address of the market, for a seller's agent", webAddress(), ''),
  logLevel: defineVariable('PENSTOCK_LOG_LEVEL', 'minimum log level', oneOf('debug', 'info', 'warn', 'error', 'silent'), 'warn'),
  logFormat: defineVariable(
    'PENSTOCK_LOG_FORMAT',
    'format of log lines: json, text or auto; auto: text on a terminal, JSON elsewhere',
    oneOf('auto', 'json', 'text'),
    'auto',
  ),
  operatorToken: defineVariable(
    'PENSTOCK_OPERATOR_TOKEN',
    'token for the operator routes, at least 16 characters; empty: the first start creates one in the data folder',
    z.string(),
    '',
  ),
  operatorTokenFile: defineVariable(
    'PENSTOCK_OPERATOR_TOKEN_FILE',
    'path of a file with the operator token, which replaces PENSTOCK_OPERATOR_TOKEN; empty: no file',
    z.string(),
    '',
  ),
  healthPort: defineVariable(
    'PENSTOCK_HEALTH_PORT',
    'TCP port of /healthz, /readyz and /metrics of a service that runs as its own process; 0: a free port. A process with all services, and a seller-agent, open the port only if this variable is set',
    wholeNumberIn(0, 65535),
    '9090',
  ),
  healthHost: defineVariable(
    'PENSTOCK_HEALTH_HOST',
    'address to listen on for PENSTOCK_HEALTH_PORT; empty: the address of PENSTOCK_HOST',
    z.string(),
    '',
  ),
  instance: defineVariable(
    'PENSTOCK_INSTANCE',
    'name of this process among the replicas of its service; empty: made from host name and process id',
    z.string(),
    '',
  ),
  ...postgresVariables,
  eventStore: defineVariable(
    'PENSTOCK_EVENT_STORE',
    'event store. In a cluster: a kurrentdb:// or postgres:// url; empty: the PostgreSQL of PENSTOCK_POSTGRES_URL. With npm start: a kurrentdb:// url; empty: the data folder',
    serverUrl({
      kind: 'a kurrentdb:// or postgres:// url',
      schemes: [...kurrentSchemes, 'postgres', 'postgresql'],
      clusterSchemes: kurrentSchemes,
      mayHaveQuery: true,
    }),
    '',
  ),
  otlpUrl: defineVariable(
    'PENSTOCK_OTLP_URL',
    'address to which traces are sent by OTLP over HTTP, such as http://collector:4318; empty: no traces',
    webAddress(),
    '',
  ),
  otlpShare: defineVariable(
    'PENSTOCK_OTLP_SHARE',
    'share of the orders that are traced, from 0 to 1; an order is traced by all processes or by none',
    decimalIn(0, 1),
    '1',
  ),
  eventStorePasswordFile: defineVariable(
    'PENSTOCK_EVENT_STORE_PASSWORD_FILE',
    'file with the password of the user in a kurrentdb:// url, read at every new connection; empty: the password in the url',
    z.string(),
    '',
  ),
  auditUrl: defineVariable(
    'PENSTOCK_AUDIT_URL',
    'address of the audit process, for the gateway of a cluster; empty: the gateway offers no audits',
    webAddress(),
    '',
  ),
  auditEveryHours: defineVariable(
    'PENSTOCK_AUDIT_EVERY_HOURS',
    'hours between automatic audits; 0: only requested audits',
    wholeNumberIn(0, 720),
    '24',
  ),
  keyringDir: defineVariable(
    'PENSTOCK_KEYRING_DIR',
    'folder with keyring.json, if it is mounted outside of the data folder; empty: the data folder',
    z.string(),
    '',
  ),
  sharePort: defineVariable('PENSTOCK_SHARE_PORT', '1: replicas of the gateway on one machine share its port', flag, '0'),
  restored: defineVariable(
    'PENSTOCK_RESTORED',
    'set it to 1 after a restore of a backup; until it is 0 again, the market makes no decision and moves no money (docs/guides/backup.md)',
    flag,
    '0',
  ),
  ...lightningVariables,
  trustProxy: defineVariable(
    'PENSTOCK_TRUST_PROXY',
    'number of proxies in front of the gateway whose X-Forwarded-For it trusts',
    wholeNumberIn(0, 10),
    '0',
  ),

  platformFeePpm: defineVariable(
    'PENSTOCK_PLATFORM_FEE_PPM',
    'platform fee, in parts per million of the capacity',
    wholeNumberIn(0, 1_000_000),
    '500',
  ),
  platformFeeMinSat: defineVariable('PENSTOCK_PLATFORM_FEE_MIN_SAT', 'minimum platform fee of an order, in satoshis', sat, '100'),
  failoverFeePercent: defineVariable(
    'PENSTOCK_FAILOVER_FEE_PERCENT',
    'maximum share of the platform fee, in percent, that a more expensive replacement seller may get; the rest pays the route of its payout',
    wholeNumberIn(0, 99),
    '80',
  ),
  routingFeeLimitPpm: defineVariable(
    'PENSTOCK_ROUTING_FEE_LIMIT_PPM',
    'maximum routing fee of a payout, in parts per million of the payout; never above the platform fee',
    wholeNumberIn(0, 1_000_000),
    '5000',
  ),

  buyAnswerSeconds: defineVariable(
    'PENSTOCK_BUY_ANSWER_SECONDS',
    'seconds within which the gateway answers `buy`, create_order and other commands; an order that is not ready in time is withdrawn',
    wholeNumberIn(1, 60),
    '10',
  ),
  buyPerMinute: defineVariable(
    'PENSTOCK_BUY_PER_MINUTE',
    'orders by `buy`, market.order.create and create_order per minute and IP address; 0: no limit',
    wholeNumberIn(0, 1_000_000),
    '10',
  ),
  dashboardPerMinute: defineVariable(
    'PENSTOCK_DASHBOARD_PER_MINUTE',
    'dashboard operations per minute and user; 0: no limit',
    wholeNumberIn(0, 1_000_000),
    '60',
  ),
  orderPollsPerMinute: defineVariable(
    'PENSTOCK_ORDER_POLLS_PER_MINUTE',
    'get_order calls per minute, order and IP address; 0: no limit, because even fast polls cost little',
    wholeNumberIn(0, 1_000_000),
    '0',
  ),
  loginPerMinute: defineVariable(
    'PENSTOCK_LOGIN_PER_MINUTE',
    'sign-ups, and failed log-ins at one account, per minute and IP address. The limit of all log-ins is ten times as high. 0: no limit',
    wholeNumberIn(0, 1_000_000),
    '10',
  ),
  ordersPerDestination: defineVariable(
    'PENSTOCK_ORDERS_PER_DESTINATION',
    'unpaid and held orders per destination node; 0: no limit',
    wholeNumberIn(0, 1_000_000),
    '10',
  ),
  ordersPerIp: defineVariable(
    'PENSTOCK_ORDERS_PER_IP',
    'unpaid and held orders per IP address; 0: no limit',
    wholeNumberIn(0, 1_000_000),
    '20',
  ),
  heldPerPeer: defineVariable(
    'PENSTOCK_HELD_PER_PEER',
    "held HTLCs per channel peer of the market's node; 0: no limit",
    wholeNumberIn(0, 1_000_000),
    '50',
  ),

  invoiceExpirySeconds: defineVariable(
    'PENSTOCK_INVOICE_EXPIRY_SECONDS',
    'seconds until an unpaid hold invoice expires',
    wholeNumberIn(10, 86_400),
    '3600',
  ),
  approvalWindowSeconds: defineVariable(
    'PENSTOCK_APPROVAL_WINDOW_SECONDS',
    'seconds within which a seller has to accept an order on an offer that the buyer chose',
    wholeNumberIn(1, 604_800),
    '86400',
  ),
  openWindowSeconds: defineVariable(
    'PENSTOCK_OPEN_WINDOW_SECONDS',
    'opening window: seconds within which an attempt has to submit its funding outpoint',
    wholeNumberIn(1, 86_400),
    '21600',
  ),
  maxAttempts: defineVariable(
    'PENSTOCK_MAX_ATTEMPTS',
    'maximum number of sellers that are tried with one payment',
    wholeNumberIn(1, 10),
    '3',
  ),
  requiredConfirmations: defineVariable(
    'PENSTOCK_REQUIRED_CONFIRMATIONS',
    'confirmations before a channel counts as open',
    wholeNumberIn(1, 100),
    '3',
  ),
  fundingSeenBlocks: defineVariable(
    'PENSTOCK_FUNDING_SEEN_BLOCKS',
    'blocks within which the transaction of an accepted outpoint has to be seen; at least 36 if the chain source sees no mempool',
    wholeNumberIn(1, 144),
    '6',
  ),
  fundingConfirmsWithinBlocks: defineVariable(
    'PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS',
    'blocks within which the funding transaction has to confirm; also the minimum that get_info offers',
    wholeNumberIn(1, 144),
    '6',
  ),
  payoutConfirmations: defineVariable(
    'PENSTOCK_PAYOUT_CONFIRMATIONS',
    'confirmations before a seller is paid',
    wholeNumberIn(1, 144),
    '6',
  ),
  withheldBlocks: defineVariable(
    'PENSTOCK_WITHHELD_BLOCKS',
    "maximum number of blocks for which a withholding cause delays a payout; then the cause's own rule or an operator decides",
    wholeNumberIn(1, 10_000),
    '1008',
  ),
  leaseBlocks: defineVariable(
    'PENSTOCK_LEASE_BLOCKS',
    'channel lease of `buy`: number of blocks for which the channel has to stay open',
    wholeNumberIn(1, 100_000),
    '4320',
  ),
  staleTipSeconds: defineVariable(
    'PENSTOCK_STALE_TIP_SECONDS',
    'age of the newest block, in seconds, above which no new hold starts; 0: no limit. Regtest and the simulated network have no limit',
    wholeNumberIn(0, 86_400),
    '7200',
  ),

  rateMaxAgeSeconds: defineVariable(
    'PENSTOCK_RATE_MAX_AGE_SECONDS',
    'maximum age of an exchange rate, in seconds; an older rate stops new quotes',
    wholeNumberIn(1, 86_400),
    '300',
  ),
  rateSpreadPercent: defineVariable(
    'PENSTOCK_RATE_SPREAD_PERCENT',
    'maximum difference between the rate sources, in percent; a larger difference stops new quotes',
    decimalIn(0, 100),
    '2',
  ),
  rateSources: defineVariable(
    'PENSTOCK_RATE_SOURCES',
    'sources of the dollar rate, separated by commas: kraken, coinbase, bitstamp, mempool. If there is more than one source, two have to answer. Only signet, testnet and mainnet use the sources',
    commaListOf('kraken', 'coinbase', 'bitstamp', 'mempool'),
    'kraken,coinbase,bitstamp',
  ),
  simCentsPerBtc: defineVariable(
    'PENSTOCK_SIM_CENTS_PER_BTC',
    'fixed rate of the simulated network and of regtest, in dollar cents per bitcoin',
    wholeNumberIn(1, 999_999_999_999),
    '10000000',
  ),
  newSellerCapSat: defineVariable(
    'PENSTOCK_NEW_SELLER_CAP_SAT',
    'maximum capacity that a seller without a finished sale can offer, in satoshis, its reservations included; 0: no limit',
    sat,
    '500000000',
  ),
  liveSeconds: defineVariable(
    'PENSTOCK_LIVE_SECONDS',
    'seconds for which a seller counts as live after its last attestation',
    wholeNumberIn(2, 3600),
    '30',
  ),
  railsScore: defineVariable(
    'PENSTOCK_RAILS_SCORE',
    'minimum score, from 0 to 1, by which a live seller belongs to the rails cluster',
    decimalIn(0, 1),
    '0.95',
  ),
  maxChannelExpiryBlocks: defineVariable(
    'PENSTOCK_MAX_CHANNEL_EXPIRY_BLOCKS',
    'maximum channel lease that LSPS1 offers, in blocks',
    wholeNumberIn(13_140, 105_120),
    '13140',
  ),
  dashboardTokenDays: defineVariable('PENSTOCK_DASHBOARD_TOKEN_DAYS', 'days until a log-in expires', wholeNumberIn(1, 365), '30'),

  simBlockSeconds: defineVariable(
    'PENSTOCK_SIM_BLOCK_SECONDS',
    'seconds between blocks of the simulated network; 0: blocks only by command',
    decimalIn(0, 3600),
    '5',
  ),
  queryDepth: defineVariable('PENSTOCK_QUERY_DEPTH', 'maximum depth of a GraphQL selection', wholeNumberIn(3, 100), '14'),
  queryCost: defineVariable(
    'PENSTOCK_QUERY_COST',
    'maximum cost of a GraphQL document: one point per field, in a list multiplied by the page size',
    wholeNumberIn(10, 1_000_000),
    '5000',
  ),
  allowHttpRedirect: defineVariable(
    'PENSTOCK_ALLOW_LOCALHOST_REDIRECT',
    '1: redirect URLs to localhost may use plain http, for development',
    flag,
    '0',
  ),

  ...paymentsVariables,
  ...kafkaVariables,
} as const

type Variables = typeof variables
/** The validated configuration of a process. It never changes while the process runs. */
export type Config = { readonly [K in keyof Variables]: z.output<Variables[K]['schema']> }

/** Hides the user and password of a url, so that an error message can show the rest. A password may contain any character. */
const maskPassword = (value: string | undefined): string =>
  String(value)
    .replace(/\/\/.*@/s, '//…@')
    .replace(/(password=)[^&]*/gi, '$1…')

/**
 * @param env as in `process.env`
 * @throws ConfigError with a line for each invalid variable
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const faults: string[] = []
  const values = Object.entries(variables).map(([key, { name, schema, defaultValue }]) => {
    const parsed = schema.safeParse(env[name] ?? defaultValue)
    if (!parsed.success) faults.push(`${name} is "${maskPassword(env[name])}"; it must be ${parsed.error.issues[0]?.message}.`)
    return [key, parsed.data] as const
  })
  // The fee pays for the route of the payout. Without a fee no payout could pay a route, and each would be retried for ever.
  const isSetToZero = (name: string): boolean => /^0+(\.0*)?$/.test(env[name] ?? '')
  if (isSetToZero('PENSTOCK_PLATFORM_FEE_PPM') && isSetToZero('PENSTOCK_PLATFORM_FEE_MIN_SAT'))
    faults.push(
      'PENSTOCK_PLATFORM_FEE_PPM and PENSTOCK_PLATFORM_FEE_MIN_SAT are both 0; one must be above 0, because the fee pays the route of a payout.',
    )
  if (faults.length > 0)
    throw new ConfigError(`The configuration cannot be used:\n${faults.map((fault) => `  ${fault}`).join('\n')}`)
  return Object.fromEntries(values) as Config // Every key of the table is present, and its own schema parsed its value.
}

/** Settings of the command line. A shell that sets them for the command line may start a service too. */
const COMMAND_LINE_SETTINGS = ['PENSTOCK_URL', 'PENSTOCK_DECISION_KEY']

/** Names that begin like a setting but are unknown. They are probably misspelt, so a process prints them at its start. */
export function findUnknownSettings(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const known = new Set<string>([...COMMAND_LINE_SETTINGS, ...Object.values(variables).map(({ name }) => name)])
  return Object.keys(env).filter((name) => name.startsWith('PENSTOCK_') && !name.startsWith('PENSTOCK_TEST_') && !known.has(name))
}
