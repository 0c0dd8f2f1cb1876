import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below what systems give to outgoing connections: one of those may take a port while its server is down. */
const [FIRST, END] = [10_000, 32_000]
/** Those that this process has looked at: whoever was given one may not listen yet. */
const drawn = new Set<number>()

/** A port of loopback that nobody listens on now, another one each time. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END)
    if (drawn.has(port)) continue
    drawn.add(port)
    if ((await portFault(port)) === undefined) return port
  }
}

/** @returns why nobody more can listen there, by the system's code such as EADDRINUSE; undefined where one can */
export async function portFault(port: number, host = '127.0.0.1'): Promise<string | undefined> {
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
