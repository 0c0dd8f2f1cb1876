import { parseArgs } from 'node:util'
import { understood } from './launcher/arguments.ts'
import { type Cluster, launch, type LaunchOptions } from './launcher/launch.ts'
import { runLauncher } from './launcher/run-launcher.ts'

const MOST_REPLICAS = 8

const HELP = `npm run cluster -- [--replicas <n>] [--no-demo]

Runs the whole market as separate processes on this machine: Kafka, PostgreSQL, each service n times (1),
one simulated Lightning network and its sellers. What ends is started again. Ctrl-C stops all of it.
With PENSTOCK_LIGHTNING=lnd the services use your lnd instead of that network, and nobody sells but who comes.

  --replicas <n>  processes of each service, 1 to ${MOST_REPLICAS}
  --no-demo       no demonstration purchase (with lnd there is none)

The settings are those of docs/configuration.md; "penstock cluster ps" shows the processes.`

/** Runs a cluster until SIGTERM or SIGINT; exits with 1 and a sentence where it cannot start. */
export function runCluster(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const options = optionsOf(args)
  return runLauncher({
    env,
    what: 'The cluster',
    begins: 'Starting Kafka, PostgreSQL and the services. The first time Kafka is fetched, which takes a minute.',
    stops: 'Stopping: services first, then the servers that they use.',
    launch: (config, tell, over) => launch(config, options, tell, over),
    banner,
  })
}

function optionsOf(args: readonly string[]): LaunchOptions {
  return understood(HELP, () => {
    const { values } = parseArgs({
      args: [...args],
      options: { replicas: { type: 'string', default: '1' }, 'no-demo': { type: 'boolean' }, help: { type: 'boolean' } },
    })
    if (values.help === true) return undefined
    const replicas = Number(values.replicas)
    if (!Number.isInteger(replicas) || replicas < 1 || replicas > MOST_REPLICAS)
      throw new Error(`--replicas is "${values.replicas}"; it must be a whole number from 1 to ${MOST_REPLICAS}.`)
    return { replicas, demo: values['no-demo'] !== true }
  })
}

const banner = ({ url, addresses }: Cluster): string =>
  [
    `Penstock runs as a cluster. ${'simnet' in addresses ? 'The Lightning network is simulated.' : 'Its Lightning node is an lnd.'}`,
    `  market     ${url}`,
    ...Object.entries(addresses).map(([name, address]) => `  ${name.padEnd(9)}  ${address}`),
    '  npx penstock cluster ps   shows the processes',
  ].join('\n')
