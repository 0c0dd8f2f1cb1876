import { parseArgs } from 'node:util'
import { setTimeout as sleep } from 'node:timers/promises'
import { demonstrate } from '@penstock/standalone/demo.ts'
import { parseLogFormat, LOG_HELP, parseLauncherOptions } from '../launcher/arguments.ts'
import { runLauncher } from '../launcher/run-launcher.ts'
import { MACHINE_CLOCK } from './clock.ts'
import { launchRegtest, type Regtest } from './launch.ts'
import { payFromNode } from './pay-from-node.ts'

const HELP = `npm run regtest -- [--no-demo] [--log json|text]

Runs a real Lightning network on this machine (btcd and five lnd nodes on regtest), the market on SQLite with one of the
nodes, and an agent for each of the two sellers. The first start builds lnd and btcd, which needs Go and takes some minutes.
A process that ends or hangs is restarted. Ctrl-C stops everything; the data stay in PENSTOCK_DATA_DIR.

  --no-demo       no demonstration purchase
  ${LOG_HELP}

The settings are those of docs/configuration.md; "./penstock regtest --help" shows the commands for the network.`

const BLOCK_INTERVAL_MS = 1000
const DEMO_STOP_TIMEOUT_MS = 5000

/** Runs the network until SIGTERM or SIGINT; exits with 1 and a sentence if it cannot start. */
export function runRegtest(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { hasDemo, format } = optionsOf(args)
  return runLauncher({
    env,
    format,
    what: 'The network',
    begins: 'Starting btcd, five lnd nodes, the market and two sellers.',
    stops: 'Stopping: sellers first, then the market, the nodes, and the chain.',
    async launch(config, printLine, stopping) {
      const regtest = await launchRegtest(config, {}, printLine, stopping)
      if (!hasDemo) return regtest
      const demoStop = new AbortController()
      const demoDone = runDemonstration(
        regtest,
        (line) => printLine('demonstration', line),
        AbortSignal.any([stopping, demoStop.signal]),
      )
      return {
        ...regtest,
        async stop() {
          demoStop.abort()
          // A node that hangs must not block the stop of the network.
          await Promise.race([demoDone, sleep(DEMO_STOP_TIMEOUT_MS, undefined, { ref: false })])
          await regtest.stop()
        },
      }
    },
    banner,
  })
}

function optionsOf(args: readonly string[]) {
  return parseLauncherOptions(HELP, () => {
    const options = { 'no-demo': { type: 'boolean' }, log: { type: 'string' }, help: { type: 'boolean' } } as const
    const { values } = parseArgs({ args: [...args], options })
    return values.help === true ? undefined : { hasDemo: values['no-demo'] !== true, format: parseLogFormat(values.log) }
  })
}

/** Buys one channel for the first buyer's node, and mines a block per second until the purchase ends. */
async function runDemonstration({ url, network }: Regtest, say: (line: string) => void, signal: AbortSignal): Promise<void> {
  const stopping = new AbortController()
  const buyers = {
    nodes: () => network.nodes.map(({ alias, role, lnd, info }) => ({ alias, role, uri: `${info.pubkey}@${lnd.socket}` })),
    pay: (alias: string, invoice: string) => payFromNode(network, network.nodeByAlias(alias), invoice),
  }
  void (async () => {
    while (!stopping.signal.aborted && !signal.aborted) {
      await sleep(BLOCK_INTERVAL_MS)
      await network.mine(1).catch(() => undefined) // a node that is down sees the block later
    }
  })()
  await demonstrate(url, buyers, MACHINE_CLOCK, say, signal).catch((error: unknown) => {
    if (!signal.aborted) say(`The demonstration failed: ${error instanceof Error ? error.message : String(error)}`)
  })
  stopping.abort()
}

const banner = ({ url, network }: Regtest): string =>
  [
    'Penstock runs on a real Lightning network (regtest, lnd).',
    `  market     ${url}`,
    ...network.nodes.map(({ alias, info, lnd }) => `  ${alias.padEnd(9)}  ${info.pubkey}@${lnd.socket}`),
    'To buy a channel, order one for a buyer on the page above or by GraphQL, then use:',
    '  ./penstock regtest pay <invoice>       pays it from the first buyer; --from <alias> from another',
    '  ./penstock regtest mine 6              mines six blocks; no other program mines',
    '  ./penstock regtest payment <hash>      shows the state of the payment',
    '  ./penstock regtest channels buyer      shows the channels of the buyer',
    '  ./penstock regtest --help              shows all commands, for example to kill a node or stop an agent',
  ].join('\n')
