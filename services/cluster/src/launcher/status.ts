import { clusterSocket } from '@penstock/config/data-dir.ts'
import { type SupervisedProcess, readProcessState } from './process-supervisor.ts'
import { type ControlSocket, openControlSocket } from './control-socket.ts'
import type { ClusterServer } from './servers.ts'

/** One row of `penstock cluster ps`. `handled`: commands and facts since the process began; null for a server. */
type StatusRow = {
  readonly name: string
  readonly replica: number
  readonly pid: number | null
  readonly state: 'running' | 'starting' | 'down'
  readonly handled: number | null
}

/** Answers `penstock cluster ps`. */
export const serveStatus = (
  dataDir: string,
  { children, servers }: { readonly children: readonly SupervisedProcess[]; readonly servers: readonly ClusterServer[] },
): Promise<ControlSocket> =>
  openControlSocket(clusterSocket(dataDir), async () => [
    ...servers.map(toServerRow),
    ...(await Promise.all(children.map(readProcessRow))),
  ])

const toServerRow = ({ name, pid, state }: ClusterServer): StatusRow => ({
  name,
  replica: 1,
  pid: pid ?? null,
  state,
  handled: null,
})

async function readProcessRow({ name, replica, pid, healthUrl }: SupervisedProcess): Promise<StatusRow> {
  if (pid === undefined) return { name, replica, pid: null, state: 'down', handled: null }
  const state = await readProcessState({ pid, healthUrl })
  return { name, replica, pid, state: state?.isReady === true ? 'running' : 'starting', handled: state?.handled ?? null }
}
