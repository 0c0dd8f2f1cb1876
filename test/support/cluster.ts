import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  type LaunchedCluster,
  type LaunchOptions,
  launchCluster,
  type RunningProcess,
} from '@penstock/cluster/launcher/launch.ts'
import { openPostgresFolder } from '@penstock/cluster/launcher/servers.ts'
import { readConfig } from '@penstock/config/config.ts'
import { findFreePort } from '@penstock/servers/free-port.ts'
import { explainMissingKafka } from '@penstock/servers/kafka-install.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { createOperatorClient, type Product, FAST_SETTINGS } from './product.ts'

/** A cluster with real servers and services. The test process is the launcher. */
export type TestCluster = Pick<Product, 'url' | 'dataDir' | 'operator'> & {
  readonly brokers: string
  readonly brokersLogin: LaunchedCluster['brokersLogin']
  readonly postgresUrl: string
  processes(): readonly RunningProcess[]
  readonly roll: LaunchedCluster['roll']
  /** The output lines of all processes so far. */
  readonly lines: readonly string[]
  stop(): Promise<void>
}

/** An idle machine starts a cluster with two replicas in about half a minute. */
const READY_WITHIN_MS = 360_000

/** A sentence that says why no cluster can run on this machine; undefined if a cluster can run. */
export const clusterSkipReason = await explainMissingKafka()

export async function startCluster(
  dataDir: string,
  { replicas, replicasByService = {}, env = {} }: Pick<LaunchOptions, 'replicas' | 'replicasByService' | 'env'>,
): Promise<TestCluster> {
  const settings = { PENSTOCK_KAFKA_SESSION_SECONDS: '4', PENSTOCK_KAFKA_PARTITIONS: '4', ...FAST_SETTINGS, ...env }
  const config = readConfig({ ...settings, PORT: `${await findFreePort()}`, PENSTOCK_DATA_DIR: dataDir })
  const lines: string[] = []
  const startAbort = new AbortController()
  const startTimer = setTimeout(() => startAbort.abort(new Error('the start took too long')), READY_WITHIN_MS)
  const launched = await launchCluster(
    config,
    { replicas, replicasByService, demo: false, env: settings },
    (processName, line) => lines.push(`${processName}  ${line}`),
    startAbort.signal,
  ).catch((error: unknown) => {
    throw new Error(`the cluster did not start: ${String(error)}\n${lines.slice(-40).join('\n')}`)
  })
  clearTimeout(startTimer)
  const database = openPostgresFolder(join(dataDir, 'cluster'))
  // The database may be outside of the data folder. If a test removes the data folder, the database is removed too.
  process.once('exit', () => {
    if (!existsSync(dataDir)) rmSync(database, { recursive: true, force: true })
  })
  await waitUntil(
    '/readyz answers 200',
    () =>
      fetch(`${launched.url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    180_000,
    100,
  )
  return { ...launched, dataDir, lines, operator: createOperatorClient(launched.url, dataDir) }
}
