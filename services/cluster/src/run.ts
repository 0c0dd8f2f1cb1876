import { parseArgs } from 'node:util'
import { parseLogFormat, LOG_HELP, parseLauncherOptions } from './launcher/arguments.ts'
import { type LaunchedCluster, launchCluster, type LaunchOptions } from './launcher/launch.ts'
import { runLauncher } from './launcher/run-launcher.ts'

const MAX_REPLICAS = 8

const HELP = `npm run cluster -- [--replicas <n>] [--no-demo] [--log json|text]

Runs the whole market as separate processes on this machine: Kafka, PostgreSQL, each service n times (1),
one simulated Lightning network and its sellers. A process that ends or hangs is restarted. Ctrl-C stops everything.
With PENSTOCK_LIGHTNING=lnd the services use your lnd instead of that network, and the launcher starts no sellers.

  --replicas <n>  processes of each service, 1 to ${MAX_REPLICAS}
  --no-demo       no demonstration purchase (with lnd there is none)
  ${LOG_HELP}

The settings are those of docs/configuration.md; "./penstock cluster ps" shows the processes.`

/** Runs a cluster until SIGTERM or SIGINT; exits with 1 and a sentence if it cannot start. */
export function runCluster(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { format, ...options } = optionsOf(args)
  return runLauncher({
    env,
    format,
    what: 'The cluster',
    begins: 'Starting Kafka, PostgreSQL and the services. The first start downloads Kafka, which takes a minute.',
    stops: 'Stopping: services first, then the servers that they use.',
    launch: (config, printLine, signal) => launchCluster(config, options, printLine, signal),
    banner,
  })
}

function optionsOf(args: readonly string[]): LaunchOptions & { readonly format: 'json' | 'text' | undefined } {
  return parseLauncherOptions(HELP, () => {
    const { values } = parseArgs({
      args: [...args],
      options: {
        replicas: { type: 'string', default: '1' },
        'no-demo': { type: 'boolean' },
        log: { type: 'string' },
        help: { type: 'boolean' },
      },
    })
    if (values.help === true) return undefined
    const replicas = Number(values.replicas)
    if (!Number.isInteger(replicas) || replicas < 1 || replicas > MAX_REPLICAS)
      throw new Error(`--replicas is "${values.replicas}"; it must be a whole number from 1 to ${MAX_REPLICAS}.`)
    return { replicas, demo: values['no-demo'] !== true, format: parseLogFormat(values.log) }
  })
}

const banner = ({ url, addresses }: LaunchedCluster): string =>
  [
    `Penstock runs as a cluster. ${'simnet' in addresses ? 'The Lightning network is simulated.' : 'Its Lightning node is an lnd.'}`,
    `  market     ${url}`,
    ...Object.entries(addresses).map(([name, address]) => `  ${name.padEnd(9)}  ${address}`),
    '  ./penstock cluster ps   shows the processes',
  ].join('\n')
