import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** The ports are below the range of outgoing connections, which could otherwise take a port while its server is down. */
const [FIRST, END] = [10_000, 32_000]
/** Ports that this process has tried. The caller that got a port may not listen on it yet. */
const triedPorts = new Set<number>()

/** @returns a free port of the loopback address, different in each call */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END)
    if (triedPorts.has(port)) continue
    triedPorts.add(port)
    if ((await findPortFault(port)) === undefined) return port
  }
}

/** @returns the system's error code, such as EADDRINUSE, if the port cannot be listened on; undefined if it is free */
export async function findPortFault(port: number, host = '127.0.0.1'): Promise<string | undefined> {
  const server = createServer()
  try {
    await once(server.listen(port, host), 'listening')
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  }
  server.close()
  await once(server, 'close')
  return undefined
}
