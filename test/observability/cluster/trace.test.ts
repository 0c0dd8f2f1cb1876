import assert from 'node:assert/strict'
import { traceOf } from '@penstock/runtime/trace.ts'
import { until } from '@penstock/testkit/until.ts'
import { beforeAll, describe, test } from 'vitest'
import { type Bought, buy, follow, pay } from '../../harness/buyer.ts'
import { clusterMissing, startCluster, type TestCluster } from '../../harness/cluster.ts'
import { PATIENT, scratch } from '../../harness/product.ts'
import { paidOut } from '../../harness/report.ts'
import { type Collector, startCollector } from '../collector.ts'
import { exportedMetrics, notAlways } from '../exported.ts'
import { parseMetrics, type Sample } from '../metrics.ts'
import { metricsIn, queries } from '../queries.ts'
import { assertWholePath, isWhole, traceOfOrder } from '../traces.ts'

describe.skipIf(clusterMissing !== undefined)(`a cluster of real servers${clusterMissing ? ` (${clusterMissing})` : ''}`, () => {
  let collector: Collector
  let cluster: TestCluster
  let bought: Bought

  beforeAll(async () => {
    collector = await startCollector()
    cluster = await startCluster(scratch(), {
      replicas: 1,
      env: { ...PATIENT, PENSTOCK_OTLP_URL: collector.url, PENSTOCK_LOG_LEVEL: 'info' },
    })
    bought = await buy(cluster)
    await pay(cluster, bought.invoice)
    await follow(cluster, bought, ['VALID_CHANNEL_OPENING'], 120_000)
    await until('the seller is paid', () => paidOut(cluster, bought), 60_000, 100)
    return async () => {
      await cluster.stop()
      await collector.close()
    }
  })

  test('one trace has the whole way of an order through all processes', async () => {
    const trace = () => traceOfOrder(collector.spans, bought.id)
    await until('all spans have arrived', () => isWhole(trace()), 20_000, 100)
    assertWholePath(trace(), bought.id)
    const processes = new Set(trace().map(({ process }) => process))
    const wanted = ['accounts', 'channel-watcher', 'gateway', 'matching', 'order', 'quote', 'settlement']
    assert.deepEqual([...processes].toSorted(), wanted)
  })

  test('the log lines of all processes carry the order and its trace', () => {
    const lines = cluster.lines.filter((line) => line.includes(`"order":"${bought.id}"`) && line.includes('"command"'))
    const told = new Set(lines.map((line) => line.slice(0, line.indexOf('/'))))
    assert.ok(lines.every((line) => line.includes(`"trace":"${traceOf(bought.id)}"`)))
    for (const name of ['quote', 'order', 'matching', 'settlement', 'channel-watcher']) assert.ok(told.has(name), name)
  })

  test('all that dashboards and rules ask for is really exported, and nothing else than what is declared', async () => {
    const declared = exportedMetrics()
    const samples = await allMetrics(cluster)
    for (const { name, labels } of samples) {
      if (!name.startsWith('penstock_')) continue
      const unknown = Object.keys(labels).filter((label) => !declared.get(name)?.includes(label))
      assert.deepEqual(unknown, [], `${name} has labels that it does not declare`)
      assert.ok(
        Object.values(labels).every((value) => !value.includes(bought.id)),
        name,
      )
    }
    const asked = new Set(queries().flatMap(({ expr }) => metricsIn(expr).map(({ name }) => name)))
    const missing = async (): Promise<readonly string[]> => {
      const names = new Set((await allMetrics(cluster)).map(({ name }) => name))
      return [...asked].filter((name) => !names.has(name) && !notAlways.has(name) && name !== 'up')
    }
    // Some are measured every few seconds.
    await until('all of them are exported', async () => (await missing()).length === 0, 20_000, 250).catch(() => {})
    assert.deepEqual(await missing(), [])
  })
})

async function allMetrics(cluster: TestCluster): Promise<readonly Sample[]> {
  const urls = cluster.processes().flatMap(({ name, healthUrl }) => (healthUrl && name !== 'neighbours' ? [healthUrl] : []))
  const pages = await Promise.all(urls.map(async (url) => (await fetch(`${url}/metrics`)).text()))
  return pages.flatMap((page) => parseMetrics(page).all)
}
