import { Agent, buildConnector } from 'undici'
import type { LookupFunction } from 'node:net'
import { RefusedAddress } from './failed-call.ts'
import type { HostGuard } from './host-guard.ts'
import { isLoopback, LOCALHOST } from './host.ts'

export type GuardedAgent = Agent

export type GuardedAgentOptions = {
  /** Checks each host to which a connection is made, addresses too. */
  readonly guard: HostGuard
  /** Allows http and https to this machine. The guard is not asked about it. */
  readonly allowLoopback?: boolean
  /** Certificates in PEM that are trusted instead of the usual ones. */
  readonly ca?: string
}

const CONNECT_TIMEOUT_MS = 10_000
/** The longest life of a connection, so that a host is checked again at least so often. */
const MAX_CONNECTION_AGE_MS = 30_000
/** The longest idle time of a connection whose server announces none. Some servers close idle connections after 5 s. */
const IDLE_TIMEOUT_MS = 4000
const MAX_HEADER_BYTES = 16_384

/**
 * An HTTP client for addresses that a stranger supplies. Before each connection it asks the guard, and connects to the address
 * that the guard returns. The name stays in the Host header and in the check of the certificate.
 */
export function createGuardedAgent(options: GuardedAgentOptions): GuardedAgent {
  const connectTo = buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    allowH2: false,
    lookup: lookupLoopback,
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  })
  const connect: buildConnector.connector = (target, onConnected) => {
    findAddress(options, target).then(
      (hostname) => connectTo({ ...target, hostname }, onConnected),
      (error: unknown) => onConnected(error instanceof Error ? error : new Error('the host cannot be checked'), null),
    )
  }
  return new Agent({
    connect,
    allowH2: false,
    pipelining: 1,
    clientTtl: MAX_CONNECTION_AGE_MS,
    keepAliveTimeout: IDLE_TIMEOUT_MS,
    keepAliveMaxTimeout: MAX_CONNECTION_AGE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
  })
}

/** @returns the address to connect to, without brackets. @throws RefusedAddress */
async function findAddress(
  { guard, allowLoopback = false }: GuardedAgentOptions,
  { hostname, protocol }: Pick<buildConnector.Options, 'hostname' | 'protocol'>,
): Promise<string> {
  const host = hostname.includes(':') ? `[${hostname}]` : hostname
  if (allowLoopback && isLoopback(host)) return hostname
  if (protocol !== 'https:') throw new RefusedAddress(`${host} is called by https only`)
  const checked = await guard(host)
  if (!checked.allowed) throw new RefusedAddress(checked.reason)
  if (checked.host.endsWith('.onion')) throw new RefusedAddress(`${host} needs Tor, which this client does not use`)
  return checked.host.replace(/^\[(.*)\]$/, '$1')
}

/** Node resolves names only, and the only name that reaches it is `localhost`. */
const lookupLoopback: LookupFunction = (name, _options, callback) => {
  if (name !== LOCALHOST) return callback(new RefusedAddress(`${name} was not checked`), [])
  callback(null, [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ])
}
