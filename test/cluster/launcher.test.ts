import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openPostgresFolder } from '@penstock/cluster/launcher/servers.ts'
import { findFreePort } from '@penstock/servers/free-port.ts'
import { runCli } from '@penstock/cli/run-cli.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buyChannel, waitForStatus, readOrder, paySimulatedInvoice } from '../support/market-client.ts'
import { clusterSkipReason } from '../support/cluster.ts'
import { runPenstock } from '../support/run-penstock.ts'
import { getChildEnvironment, createOperatorClient, FAST_SETTINGS } from '../support/product.ts'
import { startDoubleProcess } from '../kurrentdb/double/process.ts'
import { CHECKOUT_ROOT } from '../mutants/checkout-copy.ts'
import { auditByUrl } from './audit-by-url.ts'
import { serviceNames } from '@penstock/standalone/registry.ts'
import { startProgram } from '../support/processes.ts'

// CI has to run every test, so CI without Java or Maven is an error.
if (clusterSkipReason !== undefined && process.env['CI'] !== undefined) throw new Error(clusterSkipReason)

const MAIN = fileURLToPath(new URL('../../services/cluster/src/main.ts', import.meta.url))
const SERVERS = ['kafka', 'postgres']
const SERVICES = [...serviceNames, 'audit', 'neighbours', 'simnet']

/** Long enough for a killed process to restart before any deadline, also on a slow machine. */
const LONG_TIMEOUTS = {
  PENSTOCK_SIM_BLOCK_SECONDS: '3',
  PENSTOCK_OPEN_WINDOW_SECONDS: '120',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '144',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '40',
}

type Row = { readonly name: string; readonly replica: number; readonly pid: number | null; readonly state: string }

describe.skipIf(clusterSkipReason !== undefined)(
  'npm run cluster, on an event store that implements the protocol of KurrentDB',
  () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'penstock-launcher-'))
    let launcher: ChildProcess
    let output = (): string => ''
    let url = ''
    let store: Awaited<ReturnType<typeof startDoubleProcess>>

    beforeAll(async () => {
      store = await startDoubleProcess()
      const port = await findFreePort()
      url = `http://127.0.0.1:${port}`
      ;({ child: launcher, output } = startProgram(process.execPath, [MAIN, '--replicas', '1', '--no-demo', '--log', 'text'], {
        env: {
          ...process.env,
          ...getChildEnvironment(),
          ...FAST_SETTINGS,
          ...LONG_TIMEOUTS,
          PORT: `${port}`,
          PENSTOCK_DATA_DIR: dataDir,
          PENSTOCK_EVENT_STORE: store.url,
        },
        // The launcher leads a process group, as in a terminal, where Ctrl-C goes to the whole group.
        detached: true,
      }))
      await waitUntil(
        'it says that everything runs',
        () => output().includes('Penstock runs as a cluster') || launcher.exitCode !== null,
        120_000,
        100,
      )
      if (launcher.exitCode !== null) throw new Error(output())
    }, 150_000)
    afterAll(async () => {
      if (launcher.exitCode === null && launcher.signalCode === null) {
        const exited = once(launcher, 'exit')
        launcher.kill('SIGTERM')
        await exited
      }
      await store.stop()
      // If the user is root, the folder of PostgreSQL is next to the data folder.
      rmSync(openPostgresFolder(join(dataDir, 'cluster')), { recursive: true, force: true })
      rmSync(dataDir, { recursive: true, force: true })
    }, 60_000)

    /** The rows that `penstock cluster ps --json` prints. */
    async function ps(): Promise<readonly Row[]> {
      const printed = { out: '', err: '' }
      const code = await runCli(['cluster', 'ps', '--json'], {
        env: { PENSTOCK_DATA_DIR: dataDir, PENSTOCK_URL: url },
        out: (text) => void (printed.out += text),
        err: (text) => void (printed.err += text),
      })
      expect({ code, err: printed.err }).toEqual({ code: 0, err: '' })
      return JSON.parse(printed.out) as readonly Row[] // the launcher's own rows
    }
    const gatewayOf = (rows: readonly Row[]): Row | undefined => rows.find(({ name }) => name === 'gateway')
    const market = () => ({ url, operator: createOperatorClient(url, dataDir) })
    const ENDS = ['VALID_CHANNEL_OPENING', 'CHANNEL_MONITORING_FINISHED']
    let served = ''

    it('runs one process per service and server, and prints its URL', async () => {
      const rows = await waitUntil(
        'all processes run',
        async () => {
          const processes = await ps()
          return processes.every(({ state }) => state === 'running') ? processes : null
        },
        30_000,
        200,
      )
      expect(rows.map(({ name }) => name).toSorted()).toEqual([...SERVICES, ...SERVERS].toSorted())
      expect(new Set(rows.map(({ pid }) => pid)).size).toBe(rows.length)
      expect(output()).toContain(url)
      expect(output()).toMatch(/^launcher +waits for kafka, postgres$/m)
      // A broker that has just started briefly rejects group members, and consumers retry.
      expect(output()).not.toMatch(/a consumer ended.*coordinator is loading/)
      expect(output()).not.toMatch(/:\/\/[^/\s]+:[^…@\s]+@/)
    })

    it('sells a channel although services are killed, because they resume from the store', { timeout: 240_000 }, async () => {
      const one = await buyChannel(market())
      served = one.id
      await kill('settlement')
      await paySimulatedInvoice(market(), one.invoice)
      const excluded = ['WAITING_FOR_BUYER_PAYMENT', ...ENDS]
      await waitUntil('the order is paid', async () => !excluded.includes((await readOrder(market(), one)).status), 120_000, 100)
      for (const name of ['order', 'channel-watcher', 'matching']) await kill(name)
      expect((await waitForStatus(market(), one, ENDS, 180_000)).payment_status).toBe('SUCCESSFUL_PAYMENT')
      for (const name of ['settlement', 'order', 'channel-watcher', 'matching'])
        expect(output()).toMatch(new RegExp(`${name}/1 +ended with SIGKILL; restarting`))
      expect(await market().operator('GET', '/parked')).toEqual([])
    })
    const kill = async (processName: string): Promise<void> => {
      const pid = (await ps()).find(({ name }) => name === processName)?.pid
      if (pid) process.kill(pid, 'SIGKILL')
    }

    it('can be audited by the URL of its event store', { timeout: 120_000 }, async () => {
      const note = await auditByUrl({ store: store.url, heads: dataDir, order: served, folder: dataDir })
      const verifyArgs = ['audit', 'verify', '--store', store.url, '--note', note]
      for (const content of [['--heads', dataDir], ['--unsigned']])
        expect(await runPenstock([...verifyArgs, ...content])).toMatchObject({ code: 0, stderr: '' })
      const diff = await runPenstock(['audit', 'diff', '--against', CHECKOUT_ROOT, '--store', store.url])
      expect(diff).toMatchObject({ code: 0, stderr: '', answer: { differences: [], failing: [] } })
    })

    it('lists its processes while no gateway answers, and restarts a process that ends', { timeout: 240_000 }, async () => {
      const pid = gatewayOf(await ps())?.pid ?? 0
      process.kill(pid, 'SIGSTOP')
      try {
        // A process that answers slowly is briefly listed as starting.
        await waitUntil(
          'all processes run except the gateway',
          async () => (await ps()).every(({ name, state }) => state === (name === 'gateway' ? 'starting' : 'running')),
          60_000,
          200,
        )
      } finally {
        process.kill(pid, 'SIGKILL')
      }
      await waitUntil(
        'another gateway runs',
        async () => {
          const gateway = gatewayOf(await ps())
          return gateway?.state === 'running' && gateway.pid !== pid
        },
        90_000,
        200,
      )
      expect(output()).toMatch(/gateway\/1 +ended with SIGKILL; restarting/)
    })

    it('stops services before servers at Ctrl-C, and ignores further signals', { timeout: 60_000 }, async () => {
      const rows = await ps()
      const pidsOf = (names: readonly string[]) => rows.filter(({ name }) => names.includes(name)).map(({ pid }) => pid ?? 0)
      const [servers, services] = [pidsOf(SERVERS), pidsOf(SERVICES)]
      const exited = once(launcher, 'exit')
      process.kill(-(launcher.pid ?? 0), 'SIGINT')
      // A second signal arrives, because npm forwards the signal of the process group. A third arrives if a user repeats Ctrl-C.
      launcher.kill('SIGINT')
      await sleep(100)
      launcher.kill('SIGTERM')
      const remaining = await waitUntil(
        'a server or the launcher has ended',
        () => (launcher.exitCode !== null || !servers.every(isAlive) ? { services: services.filter(isAlive) } : null),
        50_000,
        5,
      )
      expect(remaining).toEqual({ services: [] })
      expect(await exited).toEqual([0, null])
      expect([...servers, ...services].filter(isAlive)).toEqual([])
      expect(output()).not.toMatch(/did not stop in time/)
    })
  },
)

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
