import { command } from '@penstock/kernel/process.ts'
import { createServer } from 'node:net'
import { openLogHeads } from '@penstock/audit/head-files.ts'
import { type EmbeddedPlatform, openEmbeddedPlatform } from '@penstock/platforms/embedded.ts'
import { openDataDir, assertSameMarket } from '@penstock/config/data-dir.ts'
import { resolveOperatorToken } from '@penstock/credentials/operator-token.ts'
import { lockDataDir } from '@penstock/config/data-dir-lock.ts'
import { serveHealth } from '@penstock/runtime/observability/health-server.ts'
import { findMissingSpace, hasSpaceForOrders, measureDataSpace } from '@penstock/platforms/data-space.ts'
import { startObservability, type Observability } from '@penstock/platforms/observe.ts'
import { saveCompileCache } from '@penstock/runtime/compile-cache.ts'
import { loadConfig } from '@penstock/config/load-config.ts'
import { closeOnSignal } from '@penstock/child-processes/shutdown.ts'
import type { ExternalWorld, SimulatedNetwork } from '@penstock/platforms/external-world.ts'
import { chooseExternalWorld } from '@penstock/platforms/choose-external-world.ts'
import type { SellerTarget } from '@penstock/contracts/matching.ts'
import { executeOperatorCommand } from '@penstock/gateway/operator/mount.ts'
import type { Gateway } from '@penstock/gateway/ports.ts'
import { createHeadWriter } from '@penstock/audit/head-writer.ts'
import type { Config } from '@penstock/config/config.ts'
import { ConfigError } from '@penstock/config/config-error.ts'
import { type Logger, openLogger } from '@penstock/runtime/observability/log.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { assembleServices } from './assembly.ts'
import { demonstrate } from './demo.ts'
import { demonstratePayment } from './demo-payment.ts'
import { createDemoReceiver, type DemoReceiver } from './demo-receiver.ts'
import { runSellers } from './run-sellers.ts'
import { banner, HELP } from './help-text.ts'

/** Runs everything in this process until SIGTERM or SIGINT; exits with 1 and a sentence if it cannot start. */
export async function runStandalone(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const unknownArgs = args.filter((arg) => arg !== '--no-demo' && arg !== '--help')
  if (args.includes('--help') || unknownArgs.length > 0) {
    console.log(unknownArgs.length > 0 ? `Unknown option: ${unknownArgs.join(' ')}\n\n${HELP}` : HELP)
    process.exit(unknownArgs.length > 0 ? 2 : 0)
  }
  try {
    const config = loadConfig(env)
    const { close } = await startStandalone(config, {
      demo: !args.includes('--no-demo'),
      ownHealthPort: env['PENSTOCK_HEALTH_PORT'] !== undefined,
    })
    closeOnSignal(async () => {
      console.log('Stopping: running requests are finished first.')
      await close()
    })
    saveCompileCache()
  } catch (error) {
    console.error(error instanceof ConfigError ? error.message : `Penstock cannot start: ${describeStartError(error, env)}`)
    process.exit(1)
  }
}

type Standalone = { readonly url: string; readonly close: () => Promise<void> }

/** `ownHealthPort`: metrics are also served without a token, on a port of their own. */
type StandaloneOptions = { readonly demo: boolean; readonly ownHealthPort: boolean }

async function startStandalone(config: Config, { demo, ownHealthPort }: StandaloneOptions): Promise<Standalone> {
  const log = openLogger(config.logLevel, config.logFormat)
  const dir = openDataDir(config.dataDir)
  assertSameMarket(dir, 'standalone', config)
  const lock = lockDataDir(dir)
  await assertPortFree(config)
  const { observability, end } = await observe(config, dir.path, log)
  let pendingReason: string | undefined = 'the services are starting'
  const readiness = () => pendingReason ?? findMissingSpace(dir.path)
  // The health server starts first, so that it answers a supervisor while the process waits for other servers.
  const health = ownHealthPort ? await serveOwnHealth(config, observability, readiness) : undefined
  const platform = { ...(await openEmbeddedPlatform(dir, config, log)), ...observability }
  const openExternalWorld = await chooseExternalWorld(config)
  // The calls of settlement include the calls of all other services.
  const externalWorld = openExternalWorld({ name: 'standalone', macaroon: 'settlement' }, dir, platform.clock)
  await externalWorld.waitUntilReady((reason) => {
    if (pendingReason !== reason) log.warn({ reason }, 'waiting for a server')
    pendingReason = reason
  })
  pendingReason = 'the services are starting'
  const token = resolveOperatorToken(dir, config, platform.ids)
  const stop = new AbortController()
  const openedGateway = Promise.withResolvers<Gateway>()
  const address = Promise.withResolvers<string>()
  const network = externalWorld.simulated
  const demoReceiver = network && demo ? createDemoReceiver(platform.ids) : null
  const heads = await startHeadWriter(dir.path, platform)
  const running = await run(
    await assembleServices(platform, externalWorld, {
      dataDir: dir.path,
      operatorToken: token,
      demoReceiver,
      onListening: address.resolve,
      readiness: () => Promise.resolve(readiness()),
      hasSpaceForOrders: () => hasSpaceForOrders(dir.path),
      onGatewayOpened: openedGateway.resolve,
    }),
    platform,
  )
  const url = await address.promise
  const gateway = await openedGateway.promise
  pendingReason = undefined
  console.log(banner(url, dir.path, externalWorld, config.eventStore))
  const grantRails = createRailsGrant(gateway)
  const { clock, ids } = platform
  const agents = network ? runSellers({ url, dir, network, clock, ids, log, grantRails }, stop.signal) : Promise.resolve()
  const demoDone = runDemonstration(url, network, demoReceiver, platform, stop.signal)
  const close = async (): Promise<void> => {
    await closeAll(stop, [running, heads], [agents, demoDone], externalWorld, platform).finally(() => lock.release())
    await end()
    await health?.close()
  }
  return { url, close }
}

async function observe(config: Config, dataDir: string, log: Logger): ReturnType<typeof startObservability> {
  const labels = { service: 'standalone', instance: `standalone-${process.pid}` }
  const observing = await startObservability(config, labels, log)
  measureDataSpace(observing.observability.gauges, dataDir)
  return observing
}

/** Returns a function by which the sellers of the demonstration enter the rails cluster. */
const createRailsGrant = (gateway: Gateway) => (pubkey: string) =>
  executeOperatorCommand(
    gateway,
    command<SellerTarget>('seller', pubkey, {
      type: 'GrantRails',
      data: { by: 'operator', reason: 'Seller of the demonstration.' },
    }),
  )

/** The head writer starts before the services and stops after them, so that a head covers every fact of this market. */
async function startHeadWriter(dataDir: string, platform: EmbeddedPlatform): Promise<Closable> {
  const { keeper, begun } = createHeadWriter(platform.store, await openLogHeads(dataDir), { isAlone: true })
  const running = await run([bind(keeper, {})], platform)
  // A market that was restored from a backup is read-only, and writes no heads.
  if (!platform.config.restored) await begun
  return running
}

const serveOwnHealth = (
  { host, healthHost, healthPort: port }: Config,
  { gauges }: Observability,
  readiness: () => string | undefined,
) =>
  serveHealth(
    { host: healthHost || host, port, about: { name: 'standalone', instance: 'standalone', pid: process.pid }, gauges },
    readiness,
  )

/** @throws the system's error if the port is taken, before anything is started */
async function assertPortFree({ host, port }: Config): Promise<void> {
  const probe = createServer()
  await new Promise<void>((resolve, reject) => probe.once('error', reject).listen(port, host, resolve))
  await new Promise((resolve) => probe.close(resolve))
}

async function runDemonstration(
  url: string,
  network: SimulatedNetwork | null,
  receiver: DemoReceiver | null,
  { clock, ids }: EmbeddedPlatform,
  signal: AbortSignal,
): Promise<void> {
  if (!network || !receiver) return
  const say = (line: string): void => console.log(line)
  try {
    await demonstrate(url, network.control, clock, say, signal)
    if (!signal.aborted) await demonstratePayment({ url, receiver, clock, ids, say, signal })
  } catch (error) {
    if (!signal.aborted) console.log(`The demonstration failed: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    receiver.close()
  }
}

type Closable = { close(): Promise<void> }

/** @param running services and jobs that are closed one after the other */
async function closeAll(
  stop: AbortController,
  running: readonly Closable[],
  clients: readonly Promise<void>[],
  externalWorld: ExternalWorld,
  platform: EmbeddedPlatform,
): Promise<void> {
  stop.abort()
  await Promise.all(clients)
  for (const one of running) await one.close()
  await externalWorld.close()
  await platform.close()
}

function describeStartError(error: unknown, env: NodeJS.ProcessEnv): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') return `port ${env['PORT'] ?? '8080'} is taken by another program. Set PORT to a free one.`
  return error instanceof Error ? error.message : String(error)
}
