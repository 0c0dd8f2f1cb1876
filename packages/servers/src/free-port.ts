import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below what systems give to outgoing connections: one of those may take a port while its server is down. */
const [FIRST, END] = [10_000, 32_000]

/** A port of loopback that nobody listens on now. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END)
    const server = createServer()
    try {
      await once(server.listen(port, '127.0.0.1'), 'listening')
      server.close()
      await once(server, 'close')
      return port
    } catch {
      // Somebody has it: another one.
    }
  }
}
