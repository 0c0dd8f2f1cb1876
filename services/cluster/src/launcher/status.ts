import { existsSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { clusterSocket } from '@penstock/platforms/data-dir.ts'
import type { Child } from './child.ts'
import type { Server } from './servers.ts'

/** What `penstock cluster ps` prints of a process. `handled`: commands and facts since it began; null for a server. */
type Row = {
  readonly name: string
  readonly replica: number
  readonly pid: number | null
  readonly state: 'running' | 'starting' | 'down'
  readonly handled: number | null
}

const PATIENCE_MS = 2000

/** Answers on a socket in the data folder, so that the command line finds it whatever else is down. */
export async function serveStatus(
  dataDir: string,
  children: () => readonly Child[],
  servers: () => readonly Server[],
): Promise<{ close(): Promise<void> }> {
  const path = clusterSocket(dataDir)
  if (existsSync(path)) rmSync(path)
  const server = createServer((_, response) => {
    void Promise.all(children().map(rowOf)).then((rows) => response.end(JSON.stringify([...servers().map(serverRow), ...rows])))
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve))
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const serverRow = ({ name, pid }: Server): Row => ({
  name,
  replica: 1,
  pid: pid ?? null,
  state: pid === undefined ? 'down' : 'running',
  handled: null,
})

async function rowOf({ name, replica, pid, healthUrl }: Child): Promise<Row> {
  if (pid === undefined) return { name, replica, pid: null, state: 'down', handled: null }
  const look = (path: string) => fetch(`${healthUrl}${path}`, { signal: AbortSignal.timeout(PATIENCE_MS) })
  try {
    const [ready, status] = await Promise.all([look('/readyz'), look('/status')])
    const { handled } = (await status.json()) as { readonly handled: number } // what every process answers
    return { name, replica, pid, state: ready.ok ? 'running' : 'starting', handled }
  } catch {
    return { name, replica, pid, state: 'starting', handled: null }
  }
}
