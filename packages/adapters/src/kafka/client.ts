import './kafkajs/fetch-patch.ts'
import './kafkajs/kafkajs-patches.ts'
import './kafkajs/request-queue-patch.ts'
import { connect as connectPlainly, isIP } from 'node:net'
import { connect as connectByTls, type ConnectionOptions } from 'node:tls'
import { type ISocketFactory, Kafka, type LogEntry, logLevel, type Mechanism, type RetryOptions, type SASLOptions } from 'kafkajs'

/** Receives the log lines of the adapter. The logger of the runtime has this type. */
export type BusLog = {
  debug(fields: object, text: string): void
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
}

export type KafkaClientOptions = {
  /** host:port of some brokers, from which the client gets the addresses of the others. */
  readonly brokers: readonly string[]
  /** Identifies this client in the logs and quotas of the brokers, and as the source of published messages. */
  readonly clientId: string
  readonly tls?: ConnectionOptions
  readonly sasl?: SASLOptions | Mechanism
  readonly log?: BusLog
}

/** The fields of a kafkajs log entry that the adapter passes on. */
type LogDetails = { readonly broker?: unknown; readonly error?: unknown }

/** Retries without limit, at most a second apart. By default kafkajs ends a client after ten seconds without brokers. */
export const endlessRetry: RetryOptions = { retries: 2_147_483_647, initialRetryTime: 100, maxRetryTime: 1000 }
/** For requests that their caller repeats. */
export const briefRetry: RetryOptions = { retries: 3, initialRetryTime: 100, maxRetryTime: 1000 }
/** For a check whether the brokers answer. */
export const noRetry: RetryOptions = { retries: 0 }

/** Age in ms at which a client refreshes its metadata, and so detects a changed number of partitions. */
export const METADATA_MAX_AGE_MS = 10_000

const CONNECT_TIMEOUT_MS = 3000
/** Timeout in ms of a request to a broker that does not answer. */
const REQUEST_TIMEOUT_MS = 10_000
const KEEP_ALIVE_MS = 60_000

export function createKafkaClient({ brokers, clientId, tls, sasl, log }: KafkaClientOptions, retry = endlessRetry): Kafka {
  return new Kafka({
    brokers: [...brokers],
    clientId,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    authenticationTimeout: REQUEST_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    retry,
    socketFactory,
    ...(tls && { ssl: tls }),
    ...(sasl && { sasl }),
    logLevel: log ? logLevel.WARN : logLevel.NOTHING,
    // Kafkajs recovers from the errors that it logs, such as an unreachable broker or a rebalance, so they are no warnings.
    logCreator:
      () =>
      ({ level, namespace, log: { message, broker, error } }: LogEntry & { log: LogDetails }) =>
        log?.[level === logLevel.ERROR ? 'info' : 'debug']({ client: namespace, broker, error }, message),
  })
}

/**
 * Creates sockets like kafkajs, but without Node's listener limit. kafkajs adds a listener at each connection attempt, so Node
 * would warn about a leak while a broker is unreachable.
 */
const socketFactory: ISocketFactory = ({ host, port, ssl, onConnect }) => {
  // `ssl` is undefined without TLS, although its type excludes that.
  const tls = ssl as ConnectionOptions | undefined
  const serverNameOption = isIP(host) === 0 ? { servername: host } : {}
  const socket = tls
    ? connectByTls({ host, port, ...serverNameOption, ...tls }, onConnect)
    : connectPlainly({ host, port }, onConnect)
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  socket.setMaxListeners(0)
  return socket
}
