import { parseArgs } from 'node:util'
import { setTimeout as sleep } from 'node:timers/promises'
import { demonstrate } from '@penstock/standalone/demo.ts'
import { understood } from '../launcher/arguments.ts'
import { runLauncher } from '../launcher/run-launcher.ts'
import { CLOCK } from './clock.ts'
import { launchRegtest, type Regtest } from './launch.ts'
import { pay } from './pay.ts'

const HELP = `npm run regtest -- [--no-demo]

Runs a real Lightning network on this machine (btcd and five lnd nodes on regtest), the market on SQLite with one of the
nodes, and an agent for each of the two sellers. The first time lnd and btcd are built, which needs Go and takes some
minutes. What ends is started again. Ctrl-C stops all of it; the data stay in PENSTOCK_DATA_DIR.

  --no-demo  no demonstration purchase

The settings are those of docs/configuration.md; "penstock regtest --help" shows what can be done with the network.`

const BLOCK_EVERY_MS = 1000

/** Runs the network until SIGTERM or SIGINT; exits with 1 and a sentence where it cannot start. */
export function runRegtest(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const hasDemo = demoOf(args)
  return runLauncher({
    env,
    what: 'The network',
    begins: 'Starting btcd, five lnd nodes, the market and two sellers.',
    stops: 'Stopping: sellers first, then the market, the nodes, and the chain.',
    async launch(config, tell, over) {
      const regtest = await launchRegtest(config, {}, tell, over)
      if (!hasDemo) return regtest
      const leaving = new AbortController()
      const shown = demonstration(regtest, AbortSignal.any([over, leaving.signal]))
      return {
        ...regtest,
        async stop() {
          leaving.abort()
          await shown
          await regtest.stop()
        },
      }
    },
    banner,
  })
}

function demoOf(args: readonly string[]): boolean {
  return understood(HELP, () => {
    const { values } = parseArgs({ args: [...args], options: { 'no-demo': { type: 'boolean' }, help: { type: 'boolean' } } })
    return values.help === true ? undefined : values['no-demo'] !== true
  })
}

/** One purchase from the first buyer's node, with a block a second until it is over. */
async function demonstration({ url, network }: Regtest, signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  const buyers = {
    nodes: () => network.people.map(({ alias, role, node, info }) => ({ alias, role, uri: `${info.pubkey}@${node.socket}` })),
    pay: (alias: string, invoice: string) => pay(network, network.person(alias), invoice),
  }
  void (async () => {
    while (!over.signal.aborted && !signal.aborted) {
      await sleep(BLOCK_EVERY_MS)
      await network.mine(1).catch(() => undefined) // a node that is down sees the block later
    }
  })()
  await demonstrate(url, buyers, CLOCK, (line) => console.log(line), signal).catch((error: unknown) => {
    if (!signal.aborted) console.log(`The demonstration failed: ${error instanceof Error ? error.message : String(error)}`)
  })
  over.abort()
}

const banner = ({ url, network }: Regtest): string =>
  [
    'Penstock runs on a real Lightning network (regtest, lnd).',
    `  market     ${url}`,
    ...network.people.map(({ alias, info, node }) => `  ${alias.padEnd(9)}  ${info.pubkey}@${node.socket}`),
    'To buy a channel: buy one for one of the buyers on the page above or by GraphQL, then',
    '  npx penstock regtest pay <invoice>       pays it from the first buyer; --from <alias> from another',
    '  npx penstock regtest mine 6              makes blocks, which nobody else does',
    '  npx penstock regtest payment <hash>      how the payment stands',
    '  npx penstock regtest channels buyer      the channels that the buyer has now',
    '  npx penstock regtest --help              and how to kill a node, or send a seller away',
  ].join('\n')
