import { regtestSocket } from '@penstock/config/data-dir.ts'
import { Argument, type Command } from 'commander'
import { type Json, filterObjects } from '../json.ts'
import { callLauncher } from '../launcher-client.ts'
import { addCommand, printResult, type CommandContext, parsePositiveInteger } from '../command-context.ts'
import { formatTable, formatJson } from '../text-format.ts'

type Options = { readonly json?: boolean }

export function addRegtestCommands(program: Command, context: CommandContext): void {
  const regtest = program.command('regtest').description('the real Lightning network on this machine (npm run regtest)')
  const missingHint = `No network of ${context.dataDir} answers: start it with "npm run regtest", or set PENSTOCK_DATA_DIR.`
  const call = (path: string, body?: object): Promise<Json> =>
    callLauncher({ socket: regtestSocket(context.dataDir), missingHint }, path, body)
  const printAnswer = (options: Options, answer: Json, toText: (answer: Json) => string = formatJson): void =>
    printResult(context, options, answer, toText)

  addCommand(regtest, 'nodes', 'list the lnd nodes with their role and address', 'regtest nodes --json').action(
    async (options: Options) =>
      printAnswer(options, await call('/nodes'), (list) =>
        formatTable(filterObjects(list).map(({ pubkey: _, ...node }) => node)),
      ),
  )
  addCommand(
    regtest,
    'pay',
    "pay an invoice from a buyer's node; returns once it is held, paid or failed",
    'regtest pay lnbcrt1…',
  )
    .argument('<invoice>', 'the BOLT 11 invoice')
    .option('--from <alias>', 'the node that pays (default: the first buyer)')
    .action(async (invoice: string, options: Options & { from?: string }) =>
      printAnswer(options, await call('/pay', { invoice, ...(options.from !== undefined && { from: options.from }) })),
    )
  addCommand(regtest, 'payment', "show the state of a payment at the payer's node", `regtest payment ${'0a'.repeat(32)}`)
    .argument('<hash>', 'the payment hash')
    .action(async (hash: string, options: Options) => printAnswer(options, await call('/payment', { hash })))
  addCommand(regtest, 'channels', "list a node's channels, as that node sees them", 'regtest channels buyer')
    .argument('<alias>', 'the node, as in "regtest nodes"')
    .action(async (alias: string, options: Options) =>
      printAnswer(options, await call('/channels', { alias }), (list) => formatTable(filterObjects(list))),
    )
  addCommand(regtest, 'mine', 'mine blocks now', 'regtest mine 6')
    .argument('<n>', 'number of blocks', parsePositiveInteger)
    .action(async (blocks: number, options: Options) => printAnswer(options, await call('/mine', { blocks })))
  addCommand(regtest, 'kill', "end a node's lnd, or btcd, with kill -9; it is started again", 'regtest kill market')
    .argument('<alias>', 'the node, as in "regtest nodes", or btcd')
    .action(async (alias: string, options: Options) => printAnswer(options, await call('/kill', { alias })))
  addCommand(regtest, 'agent', "stop a seller's agent, or start it again", 'regtest agent seller-ada stop')
    .argument('<alias>', 'the seller')
    .addArgument(new Argument('<what>', 'the action').choices(['stop', 'start']))
    .action(async (alias: string, what: string, options: Options) => printAnswer(options, await call('/agent', { alias, what })))
}
