import { fileURLToPath } from 'node:url'

/** One process of a service, as the launcher starts it. */
export type Planned = {
  readonly name: string
  /** From 1. */
  readonly replica: number
  readonly script: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export type Ports = {
  readonly simnet: number
  readonly audit: number
  /** A free one for each call. */
  readonly health: () => Promise<number>
}

export type PlanOptions = {
  readonly replicas: number
  readonly demo: boolean
  readonly publicUrl: string
  /** Where gateways listen: all others do on loopback. */
  readonly host: string
  /** Whether there is a network of our own, with people on it: beside an lnd there is none. */
  readonly isSimulated: boolean
  /** What a process alone is told: as whom it comes to the servers. */
  readonly asRole: (name: string) => Readonly<Record<string, string>>
  /** What every process is told. */
  readonly env: Readonly<Record<string, string>>
  readonly ports: Ports
}

/** Those that run as often as is asked for. */
export const REPLICATED = ['accounts', 'quote', 'matching', 'channel-watcher', 'settlement', 'order', 'gateway'] as const

/** @param path within the folder of all services */
export const scriptOf = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url))
export const migrateScript = scriptOf('cluster/src/migrate.ts')

/** Everything that runs beside Kafka and PostgreSQL, in the order in which it is started. */
export async function plan({
  asRole,
  replicas,
  demo,
  publicUrl,
  host,
  isSimulated,
  env,
  ports,
}: PlanOptions): Promise<readonly Planned[]> {
  const one = async (
    name: string,
    replica: number,
    script: string,
    more: Record<string, string> = {},
    args: readonly string[] = [],
  ): Promise<Planned> => ({
    name,
    replica,
    script: scriptOf(script),
    args,
    env: {
      ...env,
      ...asRole(name),
      PENSTOCK_HOST: '127.0.0.1',
      PENSTOCK_HEALTH_HOST: '127.0.0.1',
      PENSTOCK_INSTANCE: `${replica}-${process.pid}`,
      PENSTOCK_HEALTH_PORT: `${await ports.health()}`,
      ...more,
    },
  })
  const planned: Planned[] = []
  if (isSimulated) planned.push(await one('simnet', 1, 'cluster/src/simnet-process.ts', { PORT: `${ports.simnet}` }))
  for (const name of REPLICATED)
    for (let replica = 1; replica <= replicas; replica++)
      planned.push(await one(name, replica, `${name}/src/main.ts`, name === 'gateway' ? { PENSTOCK_HOST: host } : {}))
  planned.push(await one('audit', 1, 'cluster/src/audit-process.ts', { PORT: `${ports.audit}` }))
  const neighbours = { PENSTOCK_URL: publicUrl }
  const deal = demo ? ['--demo'] : []
  if (isSimulated) planned.push(await one('neighbours', 1, 'cluster/src/neighbours-process.ts', neighbours, deal))
  return planned
}
