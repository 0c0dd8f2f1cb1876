import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { CERTIFICATE, CERTIFICATE_KEY } from './certificate.fixture.ts'
import { createGuardedAgent, type GuardedAgent, type GuardedAgentOptions } from './guarded-agent.ts'
import type { HostGuard } from './host-guard.ts'
import { postOnce, type PostRequest } from './post-once.ts'

/** The functions that run after each test, the last one first. */
export const closers: (() => Promise<unknown>)[] = []

/** Each test file passes it to `afterEach`. A hook of this file would be set for the first test file of a process only. */
export async function closeReceivers(): Promise<void> {
  for (const close of closers.splice(0).toReversed()) await close()
}

async function listen(server: TcpServer): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => undefined)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return (server.address() as AddressInfo).port // a server on a port has such an address
}

export const startHttp = (listener: RequestListener): Promise<number> => listen(createServer(listener))
/** A server that answers each first piece of a connection by raw text. */
export const startRaw = (onData: (socket: Socket) => void): Promise<number> =>
  listen(createTcpServer((socket) => void socket.once('data', () => onData(socket))))

const refuseAll: HostGuard = async (host) => ({ allowed: false, reason: `${host} is refused by the test` })

export function createAgent(options: Partial<GuardedAgentOptions> = {}): GuardedAgent {
  const agent = createGuardedAgent({ guard: refuseAll, ...options })
  closers.push(() => agent.destroy())
  return agent
}

export const post = (agent: GuardedAgent, url: string, more: Partial<PostRequest> = {}) =>
  postOnce(agent, { url, headers: { 'content-type': 'application/json' }, body: '{}', timeoutMs: 60_000, ...more })

export const development = (): GuardedAgent => createAgent({ allowLoopback: true })

type Seen = { readonly servername: string | false; readonly host: string; readonly path: string }

/** A receiver at 127.0.0.1 with the certificate of hooks.example.org. `seen` lists its requests. */
export async function startTls(): Promise<{ port: number; seen: Seen[] }> {
  const seen: Seen[] = []
  const server = createTlsServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, (request, response) => {
    // The property `servername` of a TLS connection is the name that its client sent.
    const { servername } = request.socket as TLSSocket & { servername: string | false }
    seen.push({ servername, host: request.headers.host ?? '', path: request.url ?? '' })
    response.end('ok')
  })
  return { port: await listen(server), seen }
}
