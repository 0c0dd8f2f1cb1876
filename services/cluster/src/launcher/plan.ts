import { services } from '@penstock/standalone/registry.ts'
import { fileURLToPath } from 'node:url'

/** One process of a service, as the launcher starts it. */
export type PlannedProcess = {
  readonly name: string
  /** The number of this replica, from 1. */
  readonly replica: number
  readonly script: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export type PlannedPorts = {
  readonly simnet: number
  readonly audit: number
  /** Returns another free port at each call. */
  readonly health: () => Promise<number>
}

export type PlanOptions = {
  readonly replicas: number
  /** The services whose number of processes differs from `replicas`. */
  readonly replicasByService?: Readonly<Record<string, number>>
  readonly demo: boolean
  readonly url: string
  /** The host on which gateways listen; all other processes listen on loopback. */
  readonly host: string
  /** Whether the cluster has a simulated network with sellers, instead of an lnd. */
  readonly isSimulated: boolean
  /** Settings of one process only: its login at the servers. */
  readonly asRole: (name: string) => Readonly<Record<string, string>>
  /** Settings of every process. */
  readonly env: Readonly<Record<string, string>>
  readonly ports: PlannedPorts
}

/** @param path within the folder of all services */
export const scriptPath = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url))
export const migrateScript = scriptPath('cluster/src/migrate.ts')

/** Plans all processes except Kafka and PostgreSQL, in the order of their start. */
export async function planProcesses({
  asRole,
  replicas,
  replicasByService = {},
  demo,
  url,
  host,
  isSimulated,
  env,
  ports,
}: PlanOptions): Promise<readonly PlannedProcess[]> {
  const planOne = async (
    name: string,
    replica: number,
    script: string,
    ownEnv: Record<string, string> = {},
    args: readonly string[] = [],
  ): Promise<PlannedProcess> => ({
    name,
    replica,
    script: scriptPath(script),
    args,
    env: {
      ...env,
      ...asRole(name),
      PENSTOCK_HOST: '127.0.0.1',
      PENSTOCK_HEALTH_HOST: '127.0.0.1',
      PENSTOCK_INSTANCE: `${replica}-${process.pid}`,
      PENSTOCK_HEALTH_PORT: `${await ports.health()}`,
      ...ownEnv,
    },
  })
  const planned: PlannedProcess[] = []
  if (isSimulated) planned.push(await planOne('simnet', 1, 'cluster/src/simnet-process.ts', { PORT: `${ports.simnet}` }))
  for (const { name, ...manifest } of services)
    for (let replica = 1; replica <= (replicasByService[name] ?? replicas); replica++)
      planned.push(await planOne(name, replica, `${name}/src/main.ts`, 'isPublic' in manifest ? { PENSTOCK_HOST: host } : {}))
  planned.push(await planOne('audit', 1, 'cluster/src/audit-process.ts', { PORT: `${ports.audit}` }))
  const neighbours = { PENSTOCK_MARKET_URL: url }
  const demoArgs = demo ? ['--demo'] : []
  if (isSimulated) planned.push(await planOne('neighbours', 1, 'cluster/src/neighbours-process.ts', neighbours, demoArgs))
  return planned
}
