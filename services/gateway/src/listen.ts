import type { Express } from 'express'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Listening = {
  readonly port: number
  /** Takes no more requests, finishes those in hand for so long, then cuts the rest off. */
  readonly close: (graceMs?: number) => Promise<void>
}

/** @param port 0 takes a free one @throws where the address cannot be used */
export async function listen(app: Express, { host, port }: { readonly host: string; readonly port: number }): Promise<Listening> {
  const server = createServer(app)
  // Longer than the idle time of usual proxies, so that it is they who hang up.
  server.keepAliveTimeout = 65_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port, // it listens on TCP
    close: (graceMs = 5000) =>
      new Promise((resolve) => {
        const cut = setTimeout(() => server.closeAllConnections(), graceMs)
        // Connections that are kept alive become idle one by one, as their last answers leave.
        const sweep = setInterval(() => server.closeIdleConnections(), 50)
        server.close(() => {
          clearTimeout(cut)
          clearInterval(sweep)
          resolve()
        })
        server.closeIdleConnections()
      }),
  }
}
