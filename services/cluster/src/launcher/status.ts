import { clusterSocket } from '@penstock/platforms/data-dir.ts'
import { type Child, stateOf } from './child.ts'
import { type Door, openDoor } from './door.ts'
import type { Server } from './servers.ts'

/** What `penstock cluster ps` prints of a process. `handled`: commands and facts since it began; null for a server. */
type Row = {
  readonly name: string
  readonly replica: number
  readonly pid: number | null
  readonly state: 'running' | 'starting' | 'down'
  readonly handled: number | null
}

/** What `penstock cluster ps` asks. */
export const serveStatus = (
  dataDir: string,
  { children, servers }: { readonly children: readonly Child[]; readonly servers: readonly Server[] },
): Promise<Door> =>
  openDoor(clusterSocket(dataDir), async () => [...servers.map(serverRow), ...(await Promise.all(children.map(rowOf)))])

const serverRow = ({ name, pid }: Server): Row => ({
  name,
  replica: 1,
  pid: pid ?? null,
  state: pid === undefined ? 'down' : 'running',
  handled: null,
})

async function rowOf({ name, replica, pid, healthUrl }: Child): Promise<Row> {
  if (pid === undefined) return { name, replica, pid: null, state: 'down', handled: null }
  const state = await stateOf({ pid, healthUrl })
  return { name, replica, pid, state: state?.isReady === true ? 'running' : 'starting', handled: state?.handled ?? null }
}
