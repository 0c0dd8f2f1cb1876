import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPool } from '@penstock/adapters/postgres/pool.ts'
import { kafkaMissing } from '@penstock/servers/kafka-install.ts'
import { startKafka } from '@penstock/servers/kafka.ts'
import { optionsOf } from '../../test/harness/options.ts'
import { startCluster, type TestCluster } from '../../test/harness/cluster.ts'
import { compareBus } from './cluster-bus.ts'
import { type Figure, HOPS_OF_BUY, measureMarket } from './cluster-market.ts'
import { quantile, type Row, verdictOf } from './harness.ts'
import { machine } from './machine.ts'
import { amount, table } from './table.ts'

/** The bus beside the bare client, and a whole cluster. It ends with 1 where a median is short of its target. */
const USAGE = `npm run bench:cluster [-- --write]   prints the figures, and keeps them in docs/benchmarks-cluster.md
                      [-- --quick]   as little as shows that it still runs: figures that mean nothing`
const PAGE = new URL('../../docs/benchmarks-cluster.md', import.meta.url)
const REPLICAS = 2

const { quick: isQuick, write: isKept } = optionsOf(
  { quick: { type: 'boolean', default: false }, write: { type: 'boolean', default: false } },
  USAGE,
)
const missing = await kafkaMissing()
if (missing !== undefined) {
  console.error(missing)
  process.exit(2)
}
console.error('bus ...')
const kafka = await startKafka()
const rows = await compareBus(
  kafka.brokers,
  isQuick ? { rounds: 1, messages: 2000, hops: 100 } : { rounds: 7, messages: 40_000, hops: 1000 },
)
await kafka.stop()
console.log(table(rows))
console.error('market ...')
const folder = mkdtempSync(join(tmpdir(), 'penstock-bench-'))
const cluster = await startCluster(folder, {
  replicas: REPLICAS,
  env: { PENSTOCK_SIM_BLOCK_SECONDS: '5', PENSTOCK_LOG_LEVEL: 'error', PENSTOCK_KAFKA_SESSION_SECONDS: '10' },
})
const figures = await measureMarket(
  cluster,
  isQuick ? { calls: 10, pushed: 40, kills: 1 } : { calls: 200, pushed: 2000, kills: 3 },
)
const versions = await versionsOf(cluster)
await cluster.stop()
rmSync(folder, { recursive: true, force: true })
console.log(figures.map(({ what, figures: values }) => `${what}: ${values}`).join('\n'))
if (isKept) {
  writeFileSync(PAGE, page(rows, figures, versions))
  console.error('docs/benchmarks-cluster.md is written.')
}
const short = rows.filter((row) => verdictOf(row)?.isShort)
if (short.length > 0) console.error(`short of the target: ${short.map(({ what }) => what).join('; ')}`)
process.exit(short.length > 0 && !isQuick ? 1 : 0)

/** Of the servers; of packages the lockfile tells. */
async function versionsOf({ postgresUrl }: TestCluster): Promise<readonly (readonly [string, string])[]> {
  const pool = openPool({ url: postgresUrl })
  const { rows: found } = await pool.query<{ version: string }>("select current_setting('server_version') as version")
  await pool.end()
  const pom = readFileSync(new URL('../../packages/servers/src/kafka.pom.xml', import.meta.url), 'utf8')
  return [
    ['Kafka', /<kafka\.version>(.+?)</.exec(pom)?.[1] ?? 'unknown'],
    ['PostgreSQL', found[0]?.version ?? 'unknown'],
  ]
}

function page(bus: readonly Row[], market: readonly Figure[], versions: readonly (readonly [string, string])[]): string {
  const lines = [
    '# Benchmarks of the cluster',
    `Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:cluster -- --write\`, which writes this page. Again: \`npm run bench:cluster\`, on a machine with Java and Maven. Everything runs on one machine: one broker, one PostgreSQL, ${REPLICAS} replicas of each service, the simulated network, and those who measure.`,
    ['| | |', '|---|---|', ...[...machine(), ...versions].map(([what, value]) => `| ${what} | ${value} |`)].join('\n'),
    '## The bus beside the bare client',
    'Interleaved rounds on the same broker, medians. The bus waits until every replica in sync has a message, checks what the answer names, keeps the order of each key, and lets a handler answer for each message; the bare client reads with `eachMessage` and publishes the same batches, with headers of the same size, with `acks=-1`. Of rates at least 0.7 of the bare client is wanted, of milliseconds at most 3 times as many.',
    ['| | ratio | wanted | measured | kafkajs alone |', '|---|---:|---:|---:|---:|', ...bus.map(lineOf)].join('\n'),
    '## The market',
    `The hops of a purchase: ${HOPS_OF_BUY.map((topic) => `\`${topic}\``).join(', ')}. Each event is appended and flushed in PostgreSQL before it is published.`,
    ['| | |', '|---|---|', ...market.map(({ what, figures: values }) => `| ${what} | ${values} |`)].join('\n'),
  ]
  return `${lines.join('\n\n')}\n`
}

function lineOf(row: Row): string {
  const { what, unit, ratios, figures: measured, reference } = row
  const verdict = verdictOf(row)
  const wanted = verdict ? `${verdict.wanted}: ${verdict.isShort ? 'short' : 'held'}` : ''
  const median = (values: readonly number[]): string => amount(quantile(values, 0.5))
  return `| ${what} | ${median(ratios)} | ${wanted} | ${median(measured)} ${unit} | ${median(reference.figures)} ${unit} |`
}
