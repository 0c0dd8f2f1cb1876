import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openConnectionPool } from '@penstock/adapters/postgres/pool.ts'
import { explainMissingKafka } from '@penstock/servers/kafka-install.ts'
import { startKafka } from '@penstock/servers/kafka.ts'
import { parseCommandOptions } from '../../test/support/options.ts'
import { startCluster, type TestCluster } from '../../test/support/cluster.ts'
import { compareBus } from './cluster/cluster-bus.ts'
import { type ClusterFigure, BUY_TOPICS, measureMarket } from './cluster/cluster-market.ts'
import { computeQuantile, type BenchmarkRow, judgeRow } from './harness.ts'
import { renderMachineTable } from './machine.ts'
import { PROFILE_HEADING, profileEnv, renderProfiles, renderProfileSection } from './cluster/cpu-profile.ts'
import { measureOverload, type OverloadReport, sellForProfile } from './cluster/overload.ts'
import { listMissedGoals, OVERLOAD_HEADING, renderOverload, renderOverloadPlot } from './cluster/overload-report.ts'
import { type LimitedSales, measureLimitedSales, type ReplicaScaling } from './cluster/replicas.ts'
import { listMissedReplicaGoals, renderReplicas, REPLICAS_HEADING } from './cluster/replicas-report.ts'
import { replaceSection } from './cluster/page-section.ts'
import { formatAmount, formatBenchmarkTable } from './table.ts'

/** Compares the bus with the bare client, and measures a whole cluster. The exit code is 1 if a figure misses its target. */
const USAGE = `npm run bench:cluster [-- --write]   prints the figures; --write also writes docs/benchmarks-cluster.md
                      [-- --quick]   a short run that only shows that the benchmark still works
                      [-- --overload]   only the open loop at multiples of the capacity; --write replaces that part of the page
                      [-- --replicas]   only two replicas of a limited service beside one; --write replaces that part of the page
                      [-- --profile]   only some sales; prints the functions of each process that use most CPU; --write replaces that part of the page`
const PAGE = new URL('../../docs/benchmarks-cluster.md', import.meta.url)
const OVERLOAD_PLOT = new URL('../../docs/images/overload.svg', import.meta.url)
const REPLICAS = 2

const {
  quick: isQuick,
  write: isWriting,
  overload: isOverloadAlone,
  replicas: isReplicasAlone,
  profile: isProfiling,
} = parseCommandOptions(
  {
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    overload: { type: 'boolean', default: false },
    replicas: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
  },
  USAGE,
)
const missing = await explainMissingKafka()
if (missing !== undefined) {
  console.error(missing)
  process.exit(2)
}
const folder = mkdtempSync(join(tmpdir(), 'penstock-bench-'))
const settings = { PENSTOCK_SIM_BLOCK_SECONDS: '5', PENSTOCK_LOG_LEVEL: 'error', PENSTOCK_KAFKA_SESSION_SECONDS: '10' }
const overloadSettings = { ...settings, PENSTOCK_SIM_BLOCK_SECONDS: '1', PENSTOCK_OPEN_WINDOW_SECONDS: '21600' }
const replicaLoadSize = isQuick ? { seconds: 20, warmUpSeconds: 10 } : { seconds: 90, warmUpSeconds: 30 }
const SETTLING_MS = 20_000
const PROFILE_SECONDS = 60
const [LIMITED_SERVICE, LIMITED_CORE_SHARE] = ['order', 0.05] as const
const overloadSize = isQuick ? { seconds: 5, callers: 4, idleSeconds: 5 } : { seconds: 130, callers: 8, idleSeconds: 30 }
if (isProfiling) {
  const section = await profileSales()
  rmSync(folder, { recursive: true, force: true })
  if (isWriting) writeFileSync(PAGE, replaceSection(readFileSync(PAGE, 'utf8'), PROFILE_HEADING, section))
  process.exit(0)
}
if (isOverloadAlone) {
  const overloads = await measureBeyondCapacity()
  rmSync(folder, { recursive: true, force: true })
  if (isWriting) writePage(replaceSection(readFileSync(PAGE, 'utf8'), OVERLOAD_HEADING, renderOverload(overloads)), overloads)
  process.exit(listMissedGoals(overloads).length > 0 && !isQuick ? 1 : 0)
}
if (isReplicasAlone) {
  const scaling = await measureReplicas()
  rmSync(folder, { recursive: true, force: true })
  if (isWriting) writeFileSync(PAGE, replaceSection(readFileSync(PAGE, 'utf8'), REPLICAS_HEADING, renderReplicas(scaling)))
  process.exit(listMissedReplicaGoals(scaling).length > 0 && !isQuick ? 1 : 0)
}
console.error('bus ...')
const kafka = await startKafka()
const rows = await compareBus(
  kafka.brokers,
  isQuick ? { rounds: 1, messages: 2000, hops: 100 } : { rounds: 7, messages: 40_000, hops: 1000 },
)
await kafka.stop()
console.log(formatBenchmarkTable(rows))
console.error('market ...')
const cluster = await startCluster(join(folder, 'market'), { replicas: REPLICAS, env: settings })
const figures = await measureMarket(
  cluster,
  isQuick ? { calls: 10, pushed: 40, kills: 1 } : { calls: 200, pushed: 2000, kills: 3 },
)
const versions = await readVersions(cluster)
await cluster.stop()
console.log(figures.map(({ description, figures: values }) => `${description}: ${values}`).join('\n'))
const scaling = await measureReplicas()
const overloads = await measureBeyondCapacity()
const profile = await profileSales()
rmSync(folder, { recursive: true, force: true })
if (isWriting)
  writePage(renderClusterPage(rows, figures, [renderReplicas(scaling), renderOverload(overloads), profile], versions), overloads)
const missedTargets = [
  ...rows.filter((row) => judgeRow(row)?.hasMissed).map(({ description }) => description),
  ...listMissedReplicaGoals(scaling),
  ...listMissedGoals(overloads),
]
if (missedTargets.length > 0) console.error(`short of the target: ${missedTargets.join('; ')}`)
process.exit(missedTargets.length > 0 && !isQuick ? 1 : 0)

/** Measures one replica of each service under an open loop, and prints the results. */
async function measureBeyondCapacity(): Promise<OverloadReport> {
  console.error('beyond capacity ...')
  const overloadCluster = await startCluster(join(folder, 'overload'), { replicas: 1, env: overloadSettings })
  const overloads = await measureOverload(overloadCluster, overloadSize)
  await overloadCluster.stop()
  console.log(renderOverload(overloads))
  for (const fault of listMissedGoals(overloads)) console.error(`short: ${fault}`)
  return overloads
}

/** Measures a cluster with one replica of each service, and one with two replicas of a service whose replicas have little CPU. */
async function measureReplicas(): Promise<ReplicaScaling> {
  console.error('replicas ...')
  const measure = async (replicas: number): Promise<LimitedSales> => {
    const limitedCluster = await startCluster(join(folder, `replicas-${replicas}`), {
      replicas: 1,
      replicasByService: { [LIMITED_SERVICE]: replicas },
      env: overloadSettings,
    })
    const sales = await measureLimitedSales(limitedCluster, LIMITED_SERVICE, LIMITED_CORE_SHARE, replicaLoadSize)
    await limitedCluster.stop()
    console.error(`  ${sales.perSecond.toFixed(2)} a second with ${replicas}`)
    return sales
  }
  const scaling = { service: LIMITED_SERVICE, coreShare: LIMITED_CORE_SHARE, one: await measure(1), two: await measure(2) }
  console.log(renderReplicas(scaling))
  for (const fault of listMissedReplicaGoals(scaling)) console.error(`short: ${fault}`)
  return scaling
}

/**
 * Profiles every process of a cluster with one replica of each service. A profile slows the cluster, so it measures no times.
 * @returns the section of the page
 */
async function profileSales(): Promise<string> {
  const profiles = join(folder, 'profiles')
  const profiledCluster = await startCluster(join(folder, 'profiled'), {
    replicas: 1,
    env: { ...overloadSettings, ...profileEnv(profiles) },
  })
  // The sellers register and attest their funds first.
  await sleep(SETTLING_MS)
  const startedUs = readMonotonicUs()
  await sleep(overloadSize.idleSeconds * 1000)
  const restedUs = readMonotonicUs()
  const sold = await sellForProfile(profiledCluster, {
    ...overloadSize,
    seconds: isQuick ? overloadSize.seconds : PROFILE_SECONDS,
  })
  const soldUs = readMonotonicUs()
  const names = new Map(profiledCluster.processes().flatMap(({ name, pid }) => (pid === undefined ? [] : [[pid, name] as const])))
  await profiledCluster.stop()
  const found = { folder: profiles, names }
  const rest = renderProfiles(found, { sinceUs: startedUs, untilUs: restedUs })
  const selling = { sinceUs: restedUs, untilUs: soldUs }
  console.log(
    `${overloadSize.idleSeconds} s at rest\n\n${rest}\n\n${Math.round(sold)} sales\n\n${renderProfiles(found, selling)}`,
  )
  return renderProfileSection(renderProfiles(found, selling, true))
}

function readMonotonicUs(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

/** Reads the versions of Kafka and PostgreSQL. The machine table adds the versions of npm packages itself. */
async function readVersions({ postgresUrl }: TestCluster): Promise<readonly (readonly [string, string])[]> {
  const pool = openConnectionPool({ url: postgresUrl })
  const { rows: found } = await pool.query<{ version: string }>("select current_setting('server_version') as version")
  await pool.end()
  const pom = readFileSync(new URL('../../packages/servers/src/kafka.pom.xml', import.meta.url), 'utf8')
  return [
    ['Kafka', /<kafka\.version>(.+?)</.exec(pom)?.[1] ?? 'unknown'],
    ['PostgreSQL', found[0]?.version ?? 'unknown'],
  ]
}

function writePage(text: string, overloads: OverloadReport): void {
  writeFileSync(PAGE, text)
  writeFileSync(OVERLOAD_PLOT, renderOverloadPlot(overloads))
  console.error('docs/benchmarks-cluster.md and docs/images/overload.svg are written.')
}

function renderClusterPage(
  bus: readonly BenchmarkRow[],
  market: readonly ClusterFigure[],
  parts: readonly string[],
  versions: readonly (readonly [string, string])[],
): string {
  const lines = [
    '# Benchmarks of the cluster',
    `Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:cluster -- --write\`, which writes this page. The benchmark needs Java and Maven. One machine runs everything: one broker, one PostgreSQL, ${REPLICAS} replicas of each service, the simulated network, and the benchmark itself.`,
    renderMachineTable(versions),
    '## The bus beside the bare client',
    "The figures are medians of interleaved rounds on the same broker. The bus waits until every in-sync replica has a message, checks the broker's answer, keeps the order within each key, and waits for a handler's result for each message. The bare client reads with `eachMessage`. It publishes the same batches with `acks=-1` and with headers of the same size. The target is at least 0.7 of the bare client's rate, and at most 3 times its milliseconds.",
    ['| | ratio | wanted | measured | kafkajs alone |', '|---|---:|---:|---:|---:|', ...bus.map(renderRow)].join('\n'),
    '## The market',
    `The hops of a purchase: ${BUY_TOPICS.map((topic) => `\`${topic}\``).join(', ')}. Each event is appended and flushed in PostgreSQL before it is published. The process \`neighbours\` runs the sellers' agents.`,
    ['| | |', '|---|---|', ...market.map(({ description, figures: values }) => `| ${description} | ${values} |`)].join('\n'),
    ...parts,
  ]
  return `${lines.join('\n\n')}\n`
}

function renderRow(row: BenchmarkRow): string {
  const { description, unit, ratios, figures: measured, reference } = row
  const verdict = judgeRow(row)
  const requirement = verdict ? `${verdict.requirement}: ${verdict.hasMissed ? 'short' : 'held'}` : ''
  const median = (values: readonly number[]): string => formatAmount(computeQuantile(values, 0.5))
  return `| ${description} | ${median(ratios)} | ${requirement} | ${median(measured)} ${unit} | ${median(reference.figures)} ${unit} |`
}
