import { createServer } from 'node:net'
import { openHeads } from '@penstock/platforms/audit-files.ts'
import { type Embedded, embedded } from '@penstock/platforms/embedded.ts'
import { openDataDir, refuseOtherMarket } from '@penstock/platforms/data-dir.ts'
import { operatorToken } from '@penstock/platforms/operator-token.ts'
import { lockDataDir } from '@penstock/platforms/lock.ts'
import { serveHealth } from '@penstock/platforms/health.ts'
import { observe, type Seen } from '@penstock/platforms/observe.ts'
import { settingsOf } from '@penstock/platforms/settings.ts'
import { onceSignalled } from '@penstock/platforms/stopping.ts'
import type { Outside, SimulatedNetwork } from '@penstock/platforms/outside.ts'
import { outsideOf } from '@penstock/platforms/outside-lnd.ts'
import { seller } from '@penstock/contracts/matching.ts'
import { carryOut } from '@penstock/gateway/operator/mount.ts'
import type { Gateway } from '@penstock/gateway/ports.ts'
import { headKeeper } from '@penstock/runtime/audit-keep.ts'
import { type Config, ConfigError } from '@penstock/runtime/config.ts'
import { openLog } from '@penstock/runtime/log.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { ask } from '@penstock/runtime/service.ts'
import { assemble } from './assembly.ts'
import { demonstrate } from './demo.ts'
import { sellers } from './sellers.ts'
import { banner, HELP } from './words.ts'

/** Runs everything in this process until SIGTERM or SIGINT; exits with 1 and a sentence where it cannot start. */
export async function runStandalone(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const wrong = args.filter((arg) => arg !== '--no-demo' && arg !== '--help')
  if (args.includes('--help') || wrong.length > 0) {
    console.log(wrong.length > 0 ? `"${wrong.join(' ')}" is no option.\n${HELP}` : HELP)
    process.exit(wrong.length > 0 ? 2 : 0)
  }
  try {
    const config = settingsOf(env)
    const { close } = await startStandalone(config, {
      demo: !args.includes('--no-demo'),
      ownHealthPort: env['PENSTOCK_HEALTH_PORT'] !== undefined,
    })
    onceSignalled(async () => {
      console.log('Stopping: requests in hand are finished first.')
      await close()
    })
  } catch (error) {
    console.error(error instanceof ConfigError ? error.message : `Penstock cannot start: ${startFault(error, env)}`)
    process.exit(1)
  }
}

type Standalone = { readonly url: string; readonly close: () => Promise<void> }

/** `ownHealthPort`: metrics are also given without a token, on a port of their own. */
type Options = { readonly demo: boolean; readonly ownHealthPort: boolean }

async function startStandalone(config: Config, { demo, ownHealthPort }: Options): Promise<Standalone> {
  const log = openLog(config.logLevel)
  const dir = openDataDir(config.dataDir)
  refuseOtherMarket(dir, 'standalone', config)
  const lock = lockDataDir(dir)
  await portIsFree(config)
  const { seen, end } = await observe(config, { service: 'standalone', instance: `standalone-${process.pid}` })
  const platform = { ...(await embedded(dir, config, log)), ...seen }
  const outside = outsideOf('standalone', dir, config, platform.clock)
  await outside.ready((reason) => log.warn({ reason }, 'a server is waited for'))
  const token = operatorToken(dir, config, platform.ids)
  const stop = new AbortController()
  const ready = { value: false }
  const readiness = () => (ready.value ? undefined : 'the services are starting')
  const door = Promise.withResolvers<Gateway>()
  const address = Promise.withResolvers<string>()
  const heads = await keepingHeads(dir.path, platform)
  const running = await run(
    await assemble(platform, outside, {
      dataDir: dir.path,
      operatorToken: token,
      listening: address.resolve,
      readiness: () => Promise.resolve(readiness()),
      opened: door.resolve,
    }),
    platform,
  )
  const health = ownHealthPort ? await serveOwnHealth(config, seen, readiness) : undefined
  const url = await address.promise
  const gateway = await door.promise
  ready.value = true
  console.log(banner(url, dir.path, outside, config.eventStore))
  const grantRails = (pubkey: string) =>
    carryOut(gateway, ask(seller, pubkey, 'GrantRails', { by: 'operator', reason: 'Seller of the demonstration.' }))
  const { clock, ids } = platform
  const network = outside.simulated
  const agents = network ? sellers({ url, dir, network, clock, ids, log, grantRails }, stop.signal) : Promise.resolve()
  const shown = network && demo ? demonstration(url, network, platform, stop.signal) : Promise.resolve()
  const close = async (): Promise<void> => {
    await closeAll(stop, [running, heads], [agents, shown], outside, platform).finally(() => lock.release())
    await end()
    await health?.close()
  }
  return { url, close }
}

/** Log heads begin before anything is appended, and end after everything: what no head covers then is no market's. */
async function keepingHeads(dataDir: string, platform: Embedded): Promise<Closing> {
  const { keeper, begun } = headKeeper(platform.store, await openHeads(dataDir), { isAlone: true })
  const running = await run([bind(keeper, {})], platform)
  // A market that only looks writes no heads.
  if (!platform.config.restored) await begun
  return running
}

const serveOwnHealth = ({ host, healthHost, healthPort: port }: Config, { gauges }: Seen, readiness: () => string | undefined) =>
  serveHealth(
    { host: healthHost || host, port, about: { name: 'standalone', instance: 'standalone', pid: process.pid }, gauges },
    readiness,
  )

/** @throws what the system says, before anything was begun */
async function portIsFree({ host, port }: Config): Promise<void> {
  const probe = createServer()
  await new Promise<void>((resolve, reject) => probe.once('error', reject).listen(port, host, resolve))
  await new Promise((resolve) => probe.close(resolve))
}

async function demonstration(url: string, network: SimulatedNetwork, { clock }: Embedded, signal: AbortSignal): Promise<void> {
  try {
    await demonstrate(url, network.control, clock, (line) => console.log(line), signal)
  } catch (error) {
    if (!signal.aborted) console.log(`The demonstration failed: ${error instanceof Error ? error.message : String(error)}`)
  }
}

type Closing = { close(): Promise<void> }

/** @param running closed one after the other */
async function closeAll(
  stop: AbortController,
  running: readonly Closing[],
  company: readonly Promise<void>[],
  outside: Outside,
  platform: Embedded,
): Promise<void> {
  stop.abort()
  await Promise.all(company)
  for (const one of running) await one.close()
  await outside.close()
  await platform.close()
}

function startFault(error: unknown, env: NodeJS.ProcessEnv): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') return `port ${env['PORT'] ?? '8080'} is taken by another program. Set PORT to a free one.`
  return error instanceof Error ? error.message : String(error)
}
