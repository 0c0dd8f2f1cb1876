import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '@penstock/servers/free-port.ts'
import { runCli } from '@penstock/cli/run.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clusterMissing } from '../harness/cluster.ts'
import { machine, QUICK } from '../harness/product.ts'

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

type Row = { readonly name: string; readonly replica: number; readonly pid: number | null; readonly state: string }

describe.skipIf(clusterMissing !== undefined)('npm run cluster', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'penstock-launcher-'))
  let launcher: ChildProcess
  let told = ''
  let url = ''

  beforeAll(async () => {
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    launcher = spawn(process.execPath, [MAIN, '--replicas', '1', '--no-demo'], {
      env: { ...process.env, ...machine(), ...QUICK, PORT: `${port}`, PENSTOCK_DATA_DIR: dataDir },
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

  it('shows its processes while no gateway answers, and starts again what dies', { timeout: 60_000 }, async () => {
    const pid = gatewayOf(await ps())?.pid ?? 0
    process.kill(pid, 'SIGSTOP')
    const rows = await ps()
    expect(gatewayOf(rows)).toMatchObject({ pid, state: 'starting' })
    expect(rows.filter(({ name, state }) => name !== 'gateway' && state !== 'running')).toEqual([])
    process.kill(pid, 'SIGKILL')
    await until(
      'another gateway runs',
      async () => {
        const gateway = gatewayOf(await ps())
        return gateway?.state === 'running' && gateway.pid !== pid
      },
      45_000,
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
