import { readFileSync } from 'node:fs'
import { serviceNames, streamServices } from '@penstock/standalone/registry.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createNextVersion } from '../../cluster/next-version.ts'
import {
  setBehaviour,
  type PurchasedOrder,
  buyChannel,
  findBuyer,
  waitForStatus,
  sendGraphql,
  readOrder,
  paySimulatedInvoice,
  getPayment,
  listSimNodes,
} from '../../support/market-client.ts'
import { type DockerEngine, startEngine } from '../../support/docker/engine.ts'
import { buildImages } from '../../support/docker/images.ts'
import { findContainersSkipReason } from '../../support/docker/install.ts'
import { COMPOSE_ROOT } from '../compose.ts'
import { type BillOfMaterials, getComponentName } from '../sbom.ts'
import {
  mineUntilDemonstrationSold,
  type ComposeMarket,
  mineUntil,
  createComposeMarket,
  getServiceName,
  getVolumeName,
} from './compose-market.ts'
import { runSuccessfully } from '../../support/processes.ts'
import { isSkipped } from '../../support/skip.ts'
import { BUY_MUTATION } from '../../support/market-operations.ts'

const isSuiteSkipped = isSkipped('Tests with containers are', await findContainersSkipReason())

const SERVERS = ['kafka', 'postgres', 'prometheus']
const SOLD = ['VALID_CHANNEL_OPENING', 'CHANNEL_MONITORING_FINISHED']
const HELD = ['WAITING_FOR_CHANNEL_OPEN']
const TIMEOUT_MS = 240_000

// All tests use one market in this order: each test continues from the state of the previous test.
describe.skipIf(isSuiteSkipped)('docker-compose.yml on a Docker engine', () => {
  let engine: DockerEngine
  let market: ComposeMarket
  beforeAll(async () => {
    if (isSuiteSkipped) return
    engine = await startEngine()
    await buildImages(engine)
    market = await createComposeMarket(engine)
    await market.compose(['down', '--volumes', '--remove-orphans'])
  }, 600_000)
  afterAll(async () => {
    await market?.compose(['down', '--volumes', '--remove-orphans', '--timeout=1'])
    await engine?.stop()
  }, 180_000)

  const setSellerBehaviour = async (how: string): Promise<void> => {
    const nodes = await listSimNodes(market)
    await Promise.all(nodes.filter(({ role }) => role === 'seller').map(({ alias }) => setBehaviour(market, alias, how)))
  }
  const payUntilHeld = async (one: PurchasedOrder): Promise<string> => {
    const { payment_hash: hash } = await paySimulatedInvoice(market, one.invoice)
    await waitForStatus(market, one, HELD, TIMEOUT_MS)
    return hash
  }
  const mineUntilSold = (...orders: readonly PurchasedOrder[]): Promise<void> => mineUntil(market, orders, SOLD)
  test('one build creates the image, and all services become healthy', { timeout: 900_000 }, async () => {
    const { stdout, stderr } = await market.up(['--build'])
    expect(`${stdout}${stderr}`.match(/Successfully built/g)).toHaveLength(1)
    const running = (await market.containers()).filter(({ State }) => State.Running)
    expect(running.map(getServiceName).toSorted()).toEqual([...SERVERS, ...serviceNames, 'audit', 'sellers', 'simnet'].toSorted())
    expect(await market.operator('GET', '/parked')).toEqual([])
  })

  test('the command line in a container finds the market although the container cannot reach the public URL', async () => {
    // Our command line prints JSON of this type.
    const nodes = JSON.parse(await market.exec('gateway', 'penstock', 'sim', 'nodes', '--json')) as readonly { role: string }[]
    expect(nodes.map(({ role }) => role)).toEqual(expect.arrayContaining(['market', 'buyer', 'seller']))
    expect((await buyChannel(market)).page).toMatch(/^https:\/\/market\.invalid\//)
  })

  test('no process has a capability or can change the files of its image', async () => {
    for (const one of await market.containers()) {
      if (!one.State.Running) continue
      const status = readFileSync(`/proc/${one.State.Pid}/status`, 'utf8')
      expect([getServiceName(one), /CapEff:\t(\w+)/.exec(status)?.[1]]).toEqual([getServiceName(one), '0000000000000000'])
      expect([getServiceName(one), /NoNewPrivs:\t(\w+)/.exec(status)?.[1]]).toEqual([getServiceName(one), '1'])
      expect([getServiceName(one), one.HostConfig.ReadonlyRootfs]).toEqual([getServiceName(one), true])
    }
    await expect(market.exec('order', 'touch', '/app/changed')).rejects.toThrow(/Read-only file system/)
  })

  test('a database owner without superuser rights runs the migrations, and the superuser has no password', async () => {
    const attributes = 'rolsuper::text || rolcreaterole::text || rolbypassrls::text'
    expect(await market.psql(`select ${attributes} from pg_roles where rolname = 'penstock'`)).toBe('falsetruefalse')
    expect(await market.psql("select tableowner from pg_tables where tablename = 'gateway_orders_v2'")).toBe('penstock')
    expect(await market.psql("select rolpassword is null from pg_authid where rolname = 'postgres'")).toBe('t')
  })

  test('a container that is stopped during its start ends at once', async () => {
    await market.compose(['up', '--detach', '--no-deps', '--force-recreate', 'sellers'])
    const startedMs = performance.now()
    await market.compose(['stop', 'sellers'])
    // A container that ignores the signal is killed after 30 s.
    expect(performance.now() - startedMs).toBeLessThan(20_000)
    await market.up()
  })

  test('Prometheus scrapes each process, and the image contains its bill of materials', async () => {
    const query = 'http://127.0.0.1:9090/api/v1/query?query=sum(up)'
    // The services, the audit and the simulated network.
    const scraped = serviceNames.length + 2
    const isPrometheusUp = async (): Promise<boolean> =>
      (await market.exec('prometheus', 'wget', '-qO-', query)).includes(`"${scraped}"]`)
    await waitUntil('all processes answer Prometheus', isPrometheusUp, TIMEOUT_MS, 1000)
    // The build writes JSON of this type.
    const bill = JSON.parse(await market.exec('gateway', 'cat', '/app/sbom.cdx.json')) as BillOfMaterials
    expect(bill.components.map(getComponentName)).toEqual(expect.arrayContaining(['pg', 'kafkajs', 'express', 'commander']))
  })

  test('the market sells a channel to a test and to the demonstration', async () => {
    const one = await buyChannel(market)
    const hash = await payUntilHeld(one)
    await mineUntilSold(one)
    expect((await getPayment(market, hash)).state).toBe('SUCCEEDED')
    await mineUntilDemonstrationSold(market)
  })

  test('an order is fulfilled although its services and their servers crash', async () => {
    await setSellerBehaviour('silent')
    const one = await buyChannel(market)
    await payUntilHeld(one)
    await market.kill('settlement', 'order', 'gateway', 'matching', 'channel-watcher')
    await market.kill('postgres', 'kafka')
    await setSellerBehaviour('ok')
    await mineUntilSold(one)
  })

  test('a second `up` keeps every container, and PostgreSQL has connections for the additional replicas', async () => {
    const before = new Set((await market.containers()).filter(({ State }) => State.Running).map(({ Id }) => Id))
    const scaleArgs = streamServices.map(({ name }) => `${name}=2`)
    await market.up(['--build', ...scaleArgs.flatMap((scale) => ['--scale', scale])])
    const after = new Set((await market.containers()).map(({ Id }) => Id))
    expect([...before.difference(after)]).toEqual([])
    const orders = await Promise.all(Array.from({ length: 5 }, async () => buyChannel(market)))
    await Promise.all(orders.map(payUntilHeld))
    await mineUntilSold(...orders)
    // PostgreSQL accepts 100 connections by default.
    const connections = Number(await market.psql('select count(*) from pg_stat_activity'))
    console.log(`PostgreSQL has ${connections} connections.`)
    expect(connections).toBeGreaterThan(100)
    expect(await market.logs('postgres')).not.toMatch(/too many clients|connection slots/)
  })

  test('an order with a held payment is fulfilled after all containers were removed and started again', async () => {
    await setSellerBehaviour('silent')
    const one = await buyChannel(market)
    const hash = await payUntilHeld(one)
    await market.compose(['down', '--timeout=5'])
    expect(await market.containers()).toEqual([])
    await market.up()
    expect((await readOrder(market, one)).status).toBe(HELD[0])
    await setSellerBehaviour('ok')
    await mineUntilSold(one)
    expect((await getPayment(market, hash)).state).toBe('SUCCEEDED')
    await mineUntilDemonstrationSold(market)
  })

  describe('after a restore', () => {
    /** Copies a volume while no process writes to it. */
    const copyVolume = (from: string, to: string): Promise<string> =>
      engine.docker(
        'run',
        '--rm',
        '--network=none',
        `--volume=${from}:/from:ro`,
        `--volume=${to}:/to`,
        'debian:trixie-slim',
        'sh',
        '-c',
        'rm -rf /to/* && cp -a /from/. /to',
      )
    const newKafkaPrefix = { PENSTOCK_KAFKA_PREFIX: 'penstock2.' }

    /** The build of the next release, which runs during the first test. */
    let next: Promise<void>

    test('the market is read-only while PENSTOCK_RESTORED is set, and resumes when it is removed', async () => {
      next = buildNextVersion()
      next.catch(() => undefined)
      await setSellerBehaviour('silent')
      const one = await buyChannel(market)
      await market.compose(['stop', 'postgres'])
      await copyVolume(getVolumeName('postgres'), getVolumeName('copy'))
      await market.up()
      const hash = await payUntilHeld(one)
      await market.compose(['stop', '--timeout=5', 'gateway', 'sellers', ...serviceNames, 'audit', 'postgres', 'kafka'])
      await copyVolume(getVolumeName('copy'), getVolumeName('postgres'))
      await engine.docker('volume', 'rm', getVolumeName('copy'))

      await market.up(['--timeout=5'], { ...newKafkaPrefix, PENSTOCK_RESTORED: '1' })
      expect((await readOrder(market, one)).status).toBe('WAITING_FOR_BUYER_PAYMENT')
      const { uri } = await findBuyer(market)
      const refused = await sendGraphql(market.url, BUY_MUTATION, { input: { connection_uri: uri, usd_cents: '500' } })
      expect(refused.errors?.[0]?.message).toMatch(/is being restored/)
      const compared = async () =>
        /^.*the restored orders were compared with the node.*$/m.exec(await market.logs('settlement'))?.[0]
      const line = await waitUntil('settlement has compared the orders', compared, TIMEOUT_MS, 500)
      // `strangers`: payments that the node holds for no restored order.
      expect(JSON.parse(line)).toMatchObject({ differences: 1, lost: 0, strangers: 0 })
      expect((await getPayment(market, hash)).state).toBe('IN_FLIGHT')

      await market.up(['--timeout=5'], newKafkaPrefix)
      await waitForStatus(market, one, HELD, TIMEOUT_MS)
      await setSellerBehaviour('ok')
      await mineUntilSold(one)
      expect((await getPayment(market, hash)).state).toBe('SUCCEEDED')
    })

    test('an order with a held payment is fulfilled while an upgrade with a migration replaces the containers', async () => {
      await setSellerBehaviour('silent')
      const one = await buyChannel(market)
      const hash = await payUntilHeld(one)
      await next
      const before = new Map((await market.containers()).map((container) => [getServiceName(container), container.Id]))
      await market.up([], { ...newKafkaPrefix, TAG: 'test-next' })
      const after = new Map((await market.containers()).map((container) => [getServiceName(container), container.Id]))
      const replaced = [...before].flatMap(([service, id]) => (after.get(service) === id ? [] : [service]))
      expect(replaced).toEqual(expect.arrayContaining([...serviceNames, 'migrate', 'simnet', 'sellers']))
      expect(replaced).not.toEqual(expect.arrayContaining(['postgres']))
      expect(await market.psql("select to_regclass('gateway_orders_v3') is not null")).toBe('t')
      const fresh = await buyChannel(market)
      await payUntilHeld(fresh)
      await setSellerBehaviour('ok')
      await mineUntilSold(one, fresh)
      expect((await getPayment(market, hash)).state).toBe('SUCCEEDED')
      expect(await market.operator('GET', '/parked')).toEqual([])
    })

    async function buildNextVersion(): Promise<void> {
      const copy = createNextVersion()
      try {
        await buildImage(copy.folder)
      } finally {
        copy.remove()
      }
    }

    /** Builds the image of a checkout, and expects that only its last layers changed, because the packages are the same. */
    async function buildImage(folder: string): Promise<void> {
      await engine.docker(
        'build',
        '--network=host',
        '--quiet',
        '--file',
        `${folder}/deploy/docker/Dockerfile`,
        '--tag',
        'penstock:test-next',
        folder,
      )
      const layers = async (tag: string) =>
        // Docker prints JSON of this type.
        JSON.parse(await engine.docker('image', 'inspect', '--format', '{{json .RootFS.Layers}}', tag)) as readonly string[]
      const [oldLayers, nextLayers] = [await layers('penstock:test'), await layers('penstock:test-next')]
      const same = oldLayers.filter((layer) => nextLayers.includes(layer))
      expect([oldLayers.length - same.length, nextLayers.length - same.length]).toEqual([3, 3])
    }
  })

  test('suites on a real KurrentDB are skipped with a reason if its image is not available', async () => {
    const env = { ...process.env, ...engine.env, PENSTOCK_TEST_KURRENTDB_IMAGE: 'penstock.invalid/kurrentdb:1', NO_COLOR: '1' }
    const { stdout } = await runSuccessfully('vitest', ['run', 'test/kurrentdb/real.test.ts'], { cwd: COMPOSE_ROOT, env })
    expect(stdout).toContain('There is no image penstock.invalid/kurrentdb:1')
    expect(stdout).toMatch(/Tests +\d+ skipped/)
  })
})
