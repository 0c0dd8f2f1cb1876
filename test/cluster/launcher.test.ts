import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { postgresFolder } from '@penstock/cluster/launcher/servers.ts'
import { freePort } from '@penstock/servers/free-port.ts'
import { runCli } from '@penstock/cli/run.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buy, follow, order, pay } from '../harness/buyer.ts'
import { clusterMissing } from '../harness/cluster.ts'
import { penstock } from '../harness/penstock.ts'
import { machine, operatorOf, QUICK } from '../harness/product.ts'
import { startDouble } from '../kurrentdb/double/process.ts'
import { root } from '../mutants/copy.ts'
import { auditedByUrl } from './audited.ts'

// Where everything is tested, a machine without Java or Maven is a mistake.
if (clusterMissing !== undefined && process.env['CI'] !== undefined) throw new Error(clusterMissing)

const MAIN = fileURLToPath(new URL('../../services/cluster/src/main.ts', import.meta.url))
const SERVERS = ['kafka', 'postgres']
const SERVICES = [
  'accounts',
  'audit',
  'channel-watcher',
  'gateway',
  'matching',
  'neighbours',
  'order',
  'quote',
  'settlement',
  'simnet',
]

/** Whoever is killed on the way is back before anybody's time is up, on a slow machine too. */
const PATIENT = {
  PENSTOCK_SIM_BLOCK_SECONDS: '3',
  PENSTOCK_OPEN_WINDOW_SECONDS: '120',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '144',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '40',
}

type Row = { readonly name: string; readonly replica: number; readonly pid: number | null; readonly state: string }

describe.skipIf(clusterMissing !== undefined)('npm run cluster, on an event store that speaks the protocol of KurrentDB', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'penstock-launcher-'))
  let launcher: ChildProcess
  let told = ''
  let url = ''
  let store: Awaited<ReturnType<typeof startDouble>>

  beforeAll(async () => {
    store = await startDouble()
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    launcher = spawn(process.execPath, [MAIN, '--replicas', '1', '--no-demo'], {
      env: {
        ...process.env,
        ...machine(),
        // Whoever keeps what it compiled writes a thousand files at its end, and all of them end at once.
        NODE_COMPILE_CACHE: undefined,
        ...QUICK,
        ...PATIENT,
        PORT: `${port}`,
        PENSTOCK_DATA_DIR: dataDir,
        PENSTOCK_EVENT_STORE: store.url,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      // As a terminal does: what it starts is a group, and Ctrl-C is for all of it.
      detached: true,
    })
    for (const stream of [launcher.stdout, launcher.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (told += text))
    await until(
      'it says that everything runs',
      () => told.includes('Penstock runs as a cluster') || launcher.exitCode !== null,
      120_000,
      100,
    )
    if (launcher.exitCode !== null) throw new Error(told)
  }, 150_000)
  afterAll(async () => {
    if (launcher.exitCode === null && launcher.signalCode === null) {
      const gone = once(launcher, 'exit')
      launcher.kill('SIGTERM')
      await gone
    }
    await store.stop()
    // As root it lies beside the data folder.
    rmSync(postgresFolder(join(dataDir, 'cluster')), { recursive: true, force: true })
    rmSync(dataDir, { recursive: true, force: true })
  }, 60_000)

  /** What `penstock cluster ps --json` prints. */
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
  const market = () => ({ url, operator: operatorOf(url, dataDir) })
  const ENDS = ['VALID_CHANNEL_OPENING', 'CHANNEL_MONITORING_FINISHED']
  let served = ''

  it('runs one of everything, and says where', async () => {
    const rows = await until(
      'all of it runs',
      async () => {
        const found = await ps()
        return found.every(({ state }) => state === 'running') ? found : null
      },
      30_000,
      200,
    )
    expect(rows.map(({ name }) => name).toSorted()).toEqual([...SERVICES, ...SERVERS].toSorted())
    expect(new Set(rows.map(({ pid }) => pid)).size).toBe(rows.length)
    expect(told).toContain(url)
    expect(told).not.toMatch(/:\/\/[^/\s]+:[^…@\s]+@/)
  })

  it('sells a channel although services are killed on the way, and go on from the store', { timeout: 240_000 }, async () => {
    const one = await buy(market())
    served = one.id
    await kill('settlement')
    await pay(market(), one.invoice)
    const early = ['WAITING_FOR_BUYER_PAYMENT', ...ENDS]
    await until('it is paid', async () => !early.includes((await order(market(), one)).status), 120_000, 100)
    for (const name of ['order', 'channel-watcher', 'matching']) await kill(name)
    expect((await follow(market(), one, ENDS, 180_000)).payment_status).toBe('SUCCESSFUL_PAYMENT')
    for (const name of ['settlement', 'order', 'channel-watcher', 'matching'])
      expect(told).toContain(`${name}/1  ended with SIGKILL; it is started again`)
    expect(await market().operator('GET', '/parked')).toEqual([])
  })
  const kill = async (wanted: string): Promise<void> => {
    const pid = (await ps()).find(({ name }) => name === wanted)?.pid
    if (pid) process.kill(pid, 'SIGKILL')
  }

  it('is audited by the url of its store', { timeout: 120_000 }, async () => {
    const note = await auditedByUrl({ store: store.url, heads: dataDir, order: served, folder: dataDir })
    const noted = ['audit', 'verify', '--store', store.url, '--note', note]
    for (const content of [['--heads', dataDir], ['--unsigned']])
      expect(await penstock([...noted, ...content])).toMatchObject({ code: 0, err: '' })
    const diff = await penstock(['audit', 'diff', '--against', root, '--store', store.url])
    expect(diff).toMatchObject({ code: 0, err: '', answer: { differences: [], failing: [] } })
  })

  it('shows its processes while no gateway answers, and starts again what dies', { timeout: 240_000 }, async () => {
    const pid = gatewayOf(await ps())?.pid ?? 0
    process.kill(pid, 'SIGSTOP')
    try {
      // Whoever is slow to answer shows as starting for a moment.
      await until(
        'all run but the gateway',
        async () => (await ps()).every(({ name, state }) => state === (name === 'gateway' ? 'starting' : 'running')),
        60_000,
        200,
      )
    } finally {
      process.kill(pid, 'SIGKILL')
    }
    await until(
      'another gateway runs',
      async () => {
        const gateway = gatewayOf(await ps())
        return gateway?.state === 'running' && gateway.pid !== pid
      },
      90_000,
      200,
    )
    expect(told).toMatch(/gateway\/1 {2}ended with SIGKILL; it is started again/)
  })

  it('stops at Ctrl-C, services before servers, whatever else is signalled meanwhile', { timeout: 60_000 }, async () => {
    const rows = await ps()
    const pidsOf = (names: readonly string[]) => rows.filter(({ name }) => names.includes(name)).map(({ pid }) => pid ?? 0)
    const [servers, services] = [pidsOf(SERVERS), pidsOf(SERVICES)]
    const gone = once(launcher, 'exit')
    process.kill(-(launcher.pid ?? 0), 'SIGINT')
    // npm gives on what the terminal's group has had already, and an impatient person presses again.
    launcher.kill('SIGINT')
    await sleep(100)
    launcher.kill('SIGTERM')
    const left = await until(
      'a server or the launcher is gone',
      () => (launcher.exitCode !== null || !servers.every(lives) ? { services: services.filter(lives) } : null),
      50_000,
      5,
    )
    expect(left).toEqual({ services: [] })
    expect(await gone).toEqual([0, null])
    expect([...servers, ...services].filter(lives)).toEqual([])
    expect(told).not.toMatch(/did not stop in time/)
  })
})

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
