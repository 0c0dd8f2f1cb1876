import type { Express } from 'express'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mindUnread } from './unread.ts'

export type Listening = {
  readonly port: number
  /** Takes no more requests, finishes those in hand for so long, then cuts the rest off. */
  readonly close: (graceMs?: number) => Promise<void>
}

export type Address = {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** Others on this machine listen there too, and the system divides the connections. */
  readonly sharePort?: boolean
}

/**
 * How long a caller may take to say what it wants: whoever sends a byte now and then keeps no connection by that. And how
 * long one may read nothing of its answer. Between two requests it is told the time that is longer than the idle time of
 * usual proxies, so that it is they who hang up, and has still longer: one that was busy just then has not hung up yet, and
 * would lose its next request.
 */
const PATIENCE = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  unreadTimeout: 60_000,
  keepAliveTimeout: 65_000,
  keepAliveTimeoutBuffer: 15_000,
  connectionsCheckingInterval: 2000,
}

/** @throws where the address cannot be used */
export async function listen(
  app: Express,
  { host, port, sharePort = false }: Address,
  patience: Partial<typeof PATIENCE> = {},
): Promise<Listening> {
  const { unreadTimeout, ...times } = { ...PATIENCE, ...patience }
  const server = createServer(times)
  mindUnread(server, app, unreadTimeout)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host, reusePort: sharePort }, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port, // it listens on TCP
    close: async (graceMs = 5000) => {
      await noneWaits(server)
      await new Promise<void>((resolve) => {
        const cut = setTimeout(() => server.closeAllConnections(), graceMs)
        // Connections that are kept alive become idle one by one, as their last answers leave.
        const sweep = setInterval(() => server.closeIdleConnections(), 50)
        server.close(() => {
          clearTimeout(cut)
          clearInterval(sweep)
          resolve()
        })
        server.closeIdleConnections()
      })
    },
  }
}

const TURNS_AT_MOST = 1000
const QUIET_MS = 0.2

/**
 * The system cuts the connections that a listener has not accepted when it closes, also those of a port that others share;
 * and a process accepts one in each turn of its loop. So the listener closes right after a turn in which none waited.
 */
async function noneWaits(server: Server): Promise<void> {
  let accepted = 0
  const note = (): void => void accepted++
  server.on('connection', note)
  for (let turn = 0, isQuiet = false; turn < TURNS_AT_MOST && !isQuiet; turn++) {
    const [before, began] = [accepted, performance.now()]
    await new Promise((next) => setImmediate(next))
    isQuiet = accepted === before && performance.now() - began < QUIET_MS
  }
  server.off('connection', note)
}
