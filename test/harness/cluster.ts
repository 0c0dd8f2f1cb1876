import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Cluster, launch, type Running } from '@penstock/cluster/launcher/launch.ts'
import { postgresFolder } from '@penstock/cluster/launcher/servers.ts'
import { readConfig } from '@penstock/runtime/config.ts'
import { freePort } from '@penstock/servers/free-port.ts'
import { kafkaMissing } from '@penstock/servers/kafka-install.ts'
import { until } from '@penstock/testkit/until.ts'
import { operatorOf, type Product, QUICK } from './product.ts'

/** A whole cluster: the launcher is this process, the servers and services are real ones. */
export type TestCluster = Pick<Product, 'url' | 'dataDir' | 'operator'> & {
  readonly brokers: string
  readonly brokersLogin: Cluster['brokersLogin']
  readonly postgresUrl: string
  processes(): readonly Running[]
  readonly roll: Cluster['roll']
  /** Every line that the launcher told. */
  readonly lines: readonly string[]
  stop(): Promise<void>
}

const READY_WITHIN_MS = 180_000

/** Why no cluster can run here, in a sentence; undefined where one can. */
export const clusterMissing = await kafkaMissing()

export async function startCluster(
  dataDir: string,
  { replicas, env = {} }: { readonly replicas: number; readonly env?: Readonly<Record<string, string>> },
): Promise<TestCluster> {
  const settings = { PENSTOCK_KAFKA_SESSION_SECONDS: '4', ...QUICK, ...env }
  const config = readConfig({ ...settings, PORT: `${await freePort()}`, PENSTOCK_DATA_DIR: dataDir })
  const lines: string[] = []
  const over = new AbortController()
  const late = setTimeout(() => over.abort(new Error('it took too long')), READY_WITHIN_MS)
  const own = await launch(config, { replicas, demo: false, env: settings }, (line) => lines.push(line), over.signal).catch(
    (error: unknown) => {
      throw new Error(`the cluster did not start: ${String(error)}\n${lines.slice(-40).join('\n')}`)
    },
  )
  clearTimeout(late)
  const database = postgresFolder(join(dataDir, 'cluster'))
  // It may lie beside the data folder, and is of no use without it.
  process.once('exit', () => {
    if (!existsSync(dataDir)) rmSync(database, { recursive: true, force: true })
  })
  await until(
    '/readyz answers 200',
    () =>
      fetch(`${own.url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    60_000,
    100,
  )
  return { ...own, dataDir, lines, operator: operatorOf(own.url, dataDir) }
}
