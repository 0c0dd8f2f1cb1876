import { once } from 'node:events'
import { createConnection, createServer } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Serves the state of this process as JSON on a Unix socket. For each connection it first collects garbage twice. It uses no CPU
 * time between connections.
 * @param readState reads the state; its argument is the CPU usage before the garbage collections
 */
export function serveProbe(socket: string, readState: (cpu: NodeJS.CpuUsage) => object): void {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void // The flag defines `gc`.
  createServer((connection) => {
    const cpu = process.cpuUsage()
    collectGarbage()
    collectGarbage()
    connection.end(JSON.stringify(readState(cpu)))
  })
    .listen(socket)
    .unref()
}

/** Reads the state from a process that has called `serveProbe` with this socket. */
export async function readProbe<T>(socket: string): Promise<T> {
  const connection = createConnection(socket).setEncoding('utf8')
  let text = ''
  connection.on('data', (part: string) => (text += part))
  await once(connection, 'end')
  return JSON.parse(text) as T // The caller gives the type that `readState` returns.
}
