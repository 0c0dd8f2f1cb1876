import type { Express } from 'express'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { limitSlowReaders } from './slow-reader.ts'

export type ListeningServer = {
  readonly port: number
  /** Accepts no more connections, lets running requests finish for `graceMs`, then closes all connections. */
  readonly close: (graceMs?: number) => Promise<void>
}

export type ListenAddress = {
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  /** Other processes on this machine listen on the same port, and the system divides the connections among them. */
  readonly sharePort?: boolean
}

/**
 * In milliseconds. The header and request timeouts bound the time for a whole request, so a caller that sends single bytes
 * cannot occupy a connection. The slow-reader timeout bounds the time in which a caller reads nothing of its answer. The server
 * announces `keepAliveTimeout`, which is longer than the idle time of usual proxies, so that a proxy closes first. The server
 * itself closes later, by the buffer, because a caller's next request may be under way.
 */
const DEFAULT_TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  slowReaderTimeout: 60_000,
  keepAliveTimeout: 65_000,
  keepAliveTimeoutBuffer: 15_000,
  connectionsCheckingInterval: 2000,
}

/** @throws if the address cannot be used */
export async function startHttpServer(
  app: Express,
  { host, port, sharePort = false }: ListenAddress,
  timeouts: Partial<typeof DEFAULT_TIMEOUTS> = {},
): Promise<ListeningServer> {
  const { slowReaderTimeout, ...serverTimeouts } = { ...DEFAULT_TIMEOUTS, ...timeouts }
  const server = createServer(serverTimeouts)
  limitSlowReaders(server, app, slowReaderTimeout)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host, reusePort: sharePort }, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port, // the server listens on TCP
    close: async (graceMs = 5000) => {
      await waitForEmptyBacklog(server)
      await new Promise<void>((resolve) => {
        const forceCloseTimer = setTimeout(() => server.closeAllConnections(), graceMs)
        // Kept-alive connections become idle one by one, as the server sends their last answers.
        const idleCloseTimer = setInterval(() => server.closeIdleConnections(), 50)
        server.close(() => {
          clearTimeout(forceCloseTimer)
          clearInterval(idleCloseTimer)
          resolve()
        })
        server.closeIdleConnections()
      })
    },
  }
}

const MAX_LOOP_TURNS = 1000
const IDLE_TURN_MS = 0.2

/**
 * When a listener closes, the system drops the connections in its backlog, even if other processes share the port. A process
 * accepts one connection per turn of its event loop, so this function waits for a turn without a new connection.
 */
async function waitForEmptyBacklog(server: Server): Promise<void> {
  let accepted = 0
  const countConnection = (): void => void accepted++
  server.on('connection', countConnection)
  for (let turn = 0, isIdle = false; turn < MAX_LOOP_TURNS && !isIdle; turn++) {
    const [acceptedBefore, startedMs] = [accepted, performance.now()]
    await new Promise((next) => setImmediate(next))
    isIdle = accepted === acceptedBefore && performance.now() - startedMs < IDLE_TURN_MS
  }
  server.off('connection', countConnection)
}
