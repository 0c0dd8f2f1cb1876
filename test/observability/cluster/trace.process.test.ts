import assert from 'node:assert/strict'
import { deriveTraceId } from '@penstock/runtime/observability/trace-ids.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { beforeAll, describe, test } from 'vitest'
import { type PurchasedOrder, buyChannel, waitForStatus, paySimulatedInvoice } from '../../support/market-client.ts'
import { clusterSkipReason, startCluster, type TestCluster } from '../../support/cluster.ts'
import { LONG_TIMEOUT_SETTINGS, makeTempFolder } from '../../support/product.ts'
import { isPaidOut } from '../../support/order-report.ts'
import { listMetrics } from '../../../tools/dashboards/rules.ts'
import { type Collector, startCollector } from '../collector.ts'
import { listExportedMetrics, optionalMetrics, standaloneMetrics } from '../exported-metrics.ts'
import { parseMetrics, type MetricSample } from '../metrics.ts'
import { listQueries } from '../queries.ts'
import { assertWholePath, isTraceComplete, selectTraceOfOrder } from '../traces.ts'

describe.skipIf(clusterSkipReason !== undefined)(
  `a cluster of real servers${clusterSkipReason ? ` (${clusterSkipReason})` : ''}`,
  () => {
    let collector: Collector
    let cluster: TestCluster
    let bought: PurchasedOrder

    beforeAll(async () => {
      collector = await startCollector()
      cluster = await startCluster(makeTempFolder(), {
        replicas: 1,
        env: { ...LONG_TIMEOUT_SETTINGS, PENSTOCK_OTLP_URL: collector.url, PENSTOCK_LOG_LEVEL: 'info' },
      })
      bought = await buyChannel(cluster)
      await paySimulatedInvoice(cluster, bought.invoice)
      await waitForStatus(cluster, bought, ['VALID_CHANNEL_OPENING'], 120_000)
      await waitUntil('the seller is paid', () => isPaidOut(cluster, bought), 60_000, 100)
      return async () => {
        await cluster.stop()
        await collector.close()
      }
    })

    test('one trace contains all steps of an order through all processes', async () => {
      const trace = () => selectTraceOfOrder(collector.spans, bought.id)
      await waitUntil('all spans have arrived', () => isTraceComplete(trace()), 20_000, 100)
      assertWholePath(trace(), bought.id)
      const processes = new Set(trace().map(({ process }) => process))
      const expectedServices = ['accounts', 'channel-watcher', 'gateway', 'matching', 'order', 'quote', 'settlement']
      assert.deepEqual([...processes].toSorted(), expectedServices)
    })

    test('the log lines of all processes contain the order and its trace', () => {
      const lines = cluster.lines.filter((line) => line.includes(`"order":"${bought.id}"`) && line.includes('"command"'))
      const loggingServices = new Set(lines.map((line) => line.slice(0, line.indexOf('/'))))
      assert.ok(lines.every((line) => line.includes(`"trace":"${deriveTraceId(bought.id)}"`)))
      for (const name of ['quote', 'order', 'matching', 'settlement', 'channel-watcher'])
        assert.ok(loggingServices.has(name), name)
    })

    test('processes export every metric that dashboards and rules use, and only declared labels', async () => {
      const declared = listExportedMetrics()
      const samples = await readAllMetrics(cluster)
      for (const { name, labels } of samples) {
        if (!name.startsWith('penstock_')) continue
        const unknown = Object.keys(labels).filter((label) => !declared.get(name)?.includes(label))
        assert.deepEqual(unknown, [], `${name} has labels that it does not declare`)
        assert.ok(
          Object.values(labels).every((value) => !value.includes(bought.id)),
          name,
        )
      }
      const queriedMetrics = new Set(listQueries().flatMap(({ expr }) => listMetrics(expr).map(({ name }) => name)))
      const findMissing = async (): Promise<readonly string[]> => {
        const names = new Set((await readAllMetrics(cluster)).map(({ name }) => name))
        const absent = [...queriedMetrics].filter((name) => !names.has(name) && !optionalMetrics.has(name))
        return absent.filter((name) => !standaloneMetrics.has(name) && name !== 'up')
      }
      // Processes update some metrics only every few seconds.
      await waitUntil('the export of all metrics', async () => (await findMissing()).length === 0, 20_000, 250).catch(() => {})
      assert.deepEqual(await findMissing(), [])
    })
  },
)

async function readAllMetrics(cluster: TestCluster): Promise<readonly MetricSample[]> {
  const urls = cluster.processes().flatMap(({ name, healthUrl }) => (healthUrl && name !== 'neighbours' ? [healthUrl] : []))
  const pages = await Promise.all(urls.map(async (url) => (await fetch(`${url}/metrics`)).text()))
  return pages.flatMap((page) => parseMetrics(page).all)
}
