import { parseArgs } from 'node:util'
import { onceSignalled } from '@penstock/platforms/stopping.ts'
import { ConfigError, readConfig, unknownSettings } from '@penstock/runtime/config.ts'
import { type Cluster, launch, type LaunchOptions } from './launcher/launch.ts'

const MOST_REPLICAS = 8

const HELP = `npm run cluster -- [--replicas <n>] [--no-demo]

Runs the whole market as separate processes on this machine: Kafka, PostgreSQL, each service n times (1),
one simulated Lightning network and its sellers. What ends is started again. Ctrl-C stops all of it.

  --replicas <n>  processes of each service, 1 to ${MOST_REPLICAS}
  --no-demo       no demonstration purchase

The settings are those of docs/configuration.md; "penstock cluster ps" shows the processes.`

/** Runs a cluster until SIGTERM or SIGINT; exits with 1 and a sentence where it cannot start. */
export async function runCluster(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const options = optionsOf(args)
  const over = new AbortController()
  try {
    const config = readConfig(env)
    const unknown = unknownSettings(env)
    if (unknown.length > 0)
      console.error(`Not a setting of this version: ${unknown.join(', ')}. The settings are in docs/configuration.md.`)
    console.log('Starting Kafka, PostgreSQL and the services. The first time Kafka is fetched, which takes a minute.')
    const starting = launch(config, options, (line) => console.log(line), over.signal)
    onceSignalled(async () => {
      over.abort()
      console.log('Stopping: services first, then the servers that they use.')
      const begun = await starting.catch(() => undefined)
      await begun?.stop()
    }, STOP_WITHIN_MS)
    console.log(banner(await starting))
  } catch (error) {
    // Then the process ends when what was begun is stopped.
    if (over.signal.aborted) return
    console.error(error instanceof ConfigError ? error.message : `The cluster cannot start: ${String(error)}`)
    process.exit(1)
  }
}

const STOP_WITHIN_MS = 50_000

function optionsOf(args: readonly string[]): LaunchOptions {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { replicas: { type: 'string', default: '1' }, 'no-demo': { type: 'boolean' }, help: { type: 'boolean' } },
    })
    if (values.help === true) {
      console.log(HELP)
      process.exit(0)
    }
    const replicas = Number(values.replicas)
    if (!Number.isInteger(replicas) || replicas < 1 || replicas > MOST_REPLICAS)
      throw new Error(`--replicas is "${values.replicas}"; it must be a whole number from 1 to ${MOST_REPLICAS}.`)
    return { replicas, demo: values['no-demo'] !== true }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`)
    process.exit(2)
  }
}

const banner = ({ url, addresses }: Cluster): string =>
  [
    'Penstock runs as a cluster. The Lightning network is simulated.',
    `  market     ${url}`,
    ...Object.entries(addresses).map(([name, address]) => `  ${name.padEnd(9)}  ${address}`),
    '  npx penstock cluster ps   shows the processes',
  ].join('\n')
