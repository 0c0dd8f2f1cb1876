import { connect, createServer, type Socket } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

export type SilentProxy = {
  /** The address of the same page through the proxy. */
  readonly through: (url: string) => string
  /** Forwards nothing more on the open connections, and closes none of them. New connections work. */
  readonly silence: () => void
  /** The number of open connections. */
  readonly count: () => number
  readonly close: () => void
}

/** Starts a middle box between a browser and the market. */
export async function startSilentProxy(target: string): Promise<SilentProxy> {
  const sockets = new Set<Socket>()
  let open: Socket[] = []
  const server = createServer((inbound) => {
    const outbound = connect(Number(new URL(target).port), '127.0.0.1')
    const pair = [inbound, outbound]
    open.push(inbound)
    for (const socket of pair) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.once('close', () => {
        for (const one of pair) one.destroy()
        open = open.filter((one) => one !== inbound)
      })
    }
    inbound.pipe(outbound)
    outbound.pipe(inbound)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // the server listens on TCP
  return {
    through: (url) => Object.assign(new URL(url), { host: `127.0.0.1:${port}` }).href,
    silence() {
      for (const socket of sockets) socket.unpipe().pause()
    },
    count: () => open.length,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
