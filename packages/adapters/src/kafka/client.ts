import './mends.ts'
import { connect as connectPlainly, isIP } from 'node:net'
import { connect as connectByTls, type ConnectionOptions } from 'node:tls'
import { type ISocketFactory, Kafka, type LogEntry, logLevel, type Mechanism, type RetryOptions, type SASLOptions } from 'kafkajs'

/** What the adapter says about its work; the runtime's log is one. */
export type BusLog = {
  debug(fields: object, text: string): void
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
}

export type ClientOptions = {
  /** host:port of some brokers; the others are learned from them. */
  readonly brokers: readonly string[]
  /** Who is connected, in the brokers' logs and quotas, and the source of what is published. */
  readonly clientId: string
  readonly tls?: ConnectionOptions
  readonly sasl?: SASLOptions | Mechanism
  readonly log?: BusLog
}

/** Of what kafkajs logs. */
type Details = { readonly broker?: unknown; readonly error?: unknown }

/** Never gives up, and tries again within a second: by default a client ends after ten seconds without brokers. */
export const endlessRetry: RetryOptions = { retries: 2_147_483_647, initialRetryTime: 100, maxRetryTime: 1000 }
/** For what is asked again anyway. */
export const briefRetry: RetryOptions = { retries: 3, initialRetryTime: 100, maxRetryTime: 1000 }

/** After so long a client sees by itself that a topic has other partitions. */
export const METADATA_MS = 10_000

const CONNECT_TIMEOUT_MS = 3000
/** A broker that stands still is given up after so long. */
const REQUEST_TIMEOUT_MS = 10_000
const KEEP_ALIVE_MS = 60_000

export function kafkaClient({ brokers, clientId, tls, sasl, log }: ClientOptions, retry = endlessRetry): Kafka {
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
    // Its errors are what it survives: a broker that is away, a group that is being divided anew.
    logCreator:
      () =>
      ({ level, namespace, log: { message, broker, error } }: LogEntry & { log: Details }) =>
        log?.[level === logLevel.ERROR ? 'info' : 'debug']({ client: namespace, broker, error }, message),
  })
}

/** As kafkajs makes them itself, but for the warning of Node: while a broker is away it adds a listener at each look. */
const socketFactory: ISocketFactory = ({ host, port, ssl, onConnect }) => {
  // Undefined without TLS, whatever its type says.
  const tls = ssl as ConnectionOptions | undefined
  const named = isIP(host) === 0 ? { servername: host } : {}
  const socket = tls ? connectByTls({ host, port, ...named, ...tls }, onConnect) : connectPlainly({ host, port }, onConnect)
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  socket.setMaxListeners(0)
  return socket
}
