import { regtestSocket } from '@penstock/platforms/data-dir.ts'
import { Argument, type Command } from 'commander'
import { type Json, objectsOf } from '../json.ts'
import { askLauncher } from '../launcher.ts'
import { leaf, print, type Shell, wholeNumber } from '../shell.ts'
import { table, textOf } from '../text.ts'

type Options = { readonly json?: boolean }

export function regtestCommands(program: Command, shell: Shell): void {
  const regtest = program.command('regtest').description('the real Lightning network on this machine (npm run regtest)')
  const missing = `No network of ${shell.dataDir} answers: start it with "npm run regtest", or set PENSTOCK_DATA_DIR.`
  const ask = (path: string, body?: object): Promise<Json> =>
    askLauncher({ socket: regtestSocket(shell.dataDir), missing }, path, body)
  const show = (options: Options, answer: Json, toText: (answer: Json) => string = textOf): void =>
    print(shell, options, answer, toText)

  leaf(regtest, 'nodes', 'the lnd nodes, with their role and address', 'regtest nodes --json').action(async (options: Options) =>
    show(options, await ask('/nodes'), (list) => table(objectsOf(list).map(({ pubkey: _, ...node }) => node))),
  )
  leaf(regtest, 'pay', "pay an invoice from a buyer's node; returns once it is held, paid or failed", 'regtest pay lnbcrt1…')
    .argument('<invoice>', 'BOLT 11')
    .option('--from <alias>', 'the node that pays; else the first buyer')
    .action(async (invoice: string, options: Options & { from?: string }) =>
      show(options, await ask('/pay', { invoice, ...(options.from !== undefined && { from: options.from }) })),
    )
  leaf(regtest, 'payment', 'how a payment stands at its payer', `regtest payment ${'0a'.repeat(32)}`)
    .argument('<hash>', 'the payment hash')
    .action(async (hash: string, options: Options) => show(options, await ask('/payment', { hash })))
  leaf(regtest, 'channels', "a node's channels, as that node sees them", 'regtest channels buyer')
    .argument('<alias>', 'as in regtest nodes')
    .action(async (alias: string, options: Options) =>
      show(options, await ask('/channels', { alias }), (list) => table(objectsOf(list))),
    )
  leaf(regtest, 'mine', 'make blocks now', 'regtest mine 6')
    .argument('<n>', 'how many', wholeNumber)
    .action(async (blocks: number, options: Options) => show(options, await ask('/mine', { blocks })))
  leaf(regtest, 'kill', "kill -9 of a node's lnd, or of btcd; it is started again", 'regtest kill market')
    .argument('<alias>', 'as in regtest nodes, or btcd')
    .action(async (alias: string, options: Options) => show(options, await ask('/kill', { alias })))
  leaf(regtest, 'agent', "send a seller's agent away, or bring it back", 'regtest agent seller-ada stop')
    .argument('<alias>', 'the seller')
    .addArgument(new Argument('<what>', 'what to do').choices(['stop', 'start']))
    .action(async (alias: string, what: string, options: Options) => show(options, await ask('/agent', { alias, what })))
}
