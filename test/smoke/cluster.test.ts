import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clusterSkipReason, startCluster, type TestCluster } from '../support/cluster.ts'
import { buyChannel, getPayment, paySimulatedInvoice, waitForStatus } from '../support/market-client.ts'
import { isPaidOut } from '../support/order-report.ts'
import { isSkipped } from '../support/skip.ts'

const TIMEOUT_MS = 240_000

describe.skipIf(isSkipped('The smoke test of the cluster is', clusterSkipReason))('a cluster on Kafka and PostgreSQL', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'penstock-smoke-'))
  let cluster: TestCluster
  let stop = async (): Promise<void> => {}
  beforeAll(async () => {
    cluster = await startCluster(dataDir, {
      replicas: 1,
      env: {
        PENSTOCK_SIM_BLOCK_SECONDS: '1',
        PENSTOCK_BUY_ANSWER_SECONDS: '60',
        PENSTOCK_LIVE_SECONDS: '1800',
        PENSTOCK_OPEN_WINDOW_SECONDS: '600',
        PENSTOCK_FUNDING_SEEN_BLOCKS: '144',
        PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '40',
      },
    })
    stop = () => cluster.stop()
  })
  afterAll(async () => {
    await stop()
    rmSync(dataDir, { recursive: true, force: true })
  })

  it('sells a channel although a service is killed while it holds the payment', async () => {
    const purchase = await buyChannel(cluster)
    const { payment_hash: hash } = await paySimulatedInvoice(cluster, purchase.invoice)
    const settlement = () => cluster.processes().find(({ name }) => name.startsWith('settlement'))?.pid
    const killed = await waitUntil('the settlement service runs', settlement)
    process.kill(killed, 'SIGKILL')
    await waitUntil('a new settlement service', () => settlement() !== undefined && settlement() !== killed, TIMEOUT_MS)
    await waitForStatus(cluster, purchase, ['VALID_CHANNEL_OPENING', 'CHANNEL_MONITORING_FINISHED'], TIMEOUT_MS)
    await waitUntil('the settled payment', async () => (await getPayment(cluster, hash)).state === 'SUCCEEDED', TIMEOUT_MS)
    await waitUntil('the payout', () => isPaidOut(cluster, purchase), TIMEOUT_MS)
    expect(await cluster.operator('POST', '/audit/verify', {})).toMatchObject({ divergences: 0, ledger_balanced: true })
    expect(await cluster.operator('GET', '/parked')).toEqual([])
  })
})
