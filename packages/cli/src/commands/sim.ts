import { Argument, type Command } from 'commander'
import { type Json, filterObjects } from '../json.ts'
import {
  parseAmountSat,
  addCommand,
  printResult,
  encodePathSegment,
  type CommandContext,
  parsePositiveInteger,
} from '../command-context.ts'
import { formatTable, formatJson } from '../text-format.ts'

type Options = { readonly json?: boolean }

const BEHAVIOURS = ['ok', 'slow', 'silent', 'never-open', 'wrong-size', 'wrong-peer', 'vanish']

export function addSimCommands(program: Command, context: CommandContext): void {
  const sim = program.command('sim').description('the simulated Lightning network')
  addPaymentCommands(sim, context)
  addNodeCommands(sim, context)
  addBlockCommands(sim, context)
}

function addNodeCommands(sim: Command, { callOperator, ...rest }: CommandContext): void {
  const printAnswer = (options: Options, answer: Json, toText = formatJson): void =>
    printResult({ callOperator, ...rest }, options, answer, toText)
  addCommand(sim, 'nodes', 'list the nodes with their role and confirmed coins', 'sim nodes').action(async (options: Options) =>
    // Each URI contains the public key, so a column of public keys would be redundant.
    printAnswer(options, await callOperator('GET', '/sim/nodes'), (list) =>
      formatTable(filterObjects(list).map(({ pubkey: _, ...node }) => node)),
    ),
  )
  addCommand(sim, 'channels', "list a node's channels, as that node sees them", 'sim channels buyer')
    .argument('<alias>', 'the node, as in "sim nodes"')
    .action(async (alias: string, options: Options) =>
      printAnswer(options, await callOperator('GET', `/sim/channels/${encodePathSegment(alias)}`), (list) =>
        formatTable(filterObjects(list)),
      ),
    )
  addCommand(sim, 'open', 'open a channel and publish its funding immediately', 'sim open spare 02ab…ef 1000000 --private')
    .argument('<alias>', 'the node that opens')
    .argument('<pubkey>', 'its peer')
    .argument('<sats>', 'the capacity', parseAmountSat)
    .option('--private', 'open a private channel')
    .option('--taproot', 'open a taproot channel, which has to be private')
    .action(async (alias: string, pubkey: string, sats: string, options: Options & { private?: boolean; taproot?: boolean }) => {
      const kind = { private: options.private === true, ...(options.taproot && { taproot: true }) }
      return printAnswer(options, await callOperator('POST', '/sim/open', { alias, pubkey, sats, ...kind }))
    })
  addCommand(sim, 'behave', "change the behaviour of a seller's node, until the next change", 'sim behave seller-ada never-open')
    .argument('<alias>', 'the node, as in "sim nodes"')
    .addArgument(new Argument('<how>', 'the behaviour').choices(BEHAVIOURS))
    .action(async (alias: string, how: string, options: Options) =>
      printAnswer(options, await callOperator('POST', '/sim/behave', { alias, how })),
    )
  addCommand(sim, 'sign', "sign a text with the node's key, as lnd's signmessage does", 'sim sign spare "some text"')
    .argument('<alias>', 'the node, as in "sim nodes"')
    .argument('<text>', 'the text to sign')
    .action(async (alias: string, text: string, options: Options) =>
      printAnswer(options, await callOperator('POST', '/sim/sign', { alias, text })),
    )
}

function addPaymentCommands(sim: Command, { callOperator, ...rest }: CommandContext): void {
  const printAnswer = (options: Options, answer: Json): void =>
    printResult({ callOperator, ...rest }, options, answer, formatJson)
  addCommand(sim, 'pay', "pay an invoice from the buyer's node; returns once it is held, settled or failed", 'sim pay lnbcrt1…')
    .argument('<invoice>', 'the BOLT 11 invoice')
    .option('--from <alias>', 'the node that pays')
    .action(async (invoice: string, options: Options & { from?: string }) =>
      printAnswer(
        options,
        await callOperator('POST', '/sim/pay', { invoice, ...(options.from !== undefined && { from: options.from }) }),
      ),
    )
  addCommand(sim, 'payment', 'show the state and the payee of a payment', `sim payment ${'0a'.repeat(32)}`)
    .argument('<hash>', 'the payment hash')
    .action(async (hash: string, options: Options) =>
      printAnswer(options, await callOperator('GET', `/sim/payments/${encodePathSegment(hash)}`)),
    )
  addCommand(sim, 'invoice', 'create an ordinary invoice', 'sim invoice spare 2500 --expiry 180000')
    .argument('<alias>', 'the node that is paid')
    .argument('<sats>', 'the amount', parseAmountSat)
    .option('--expiry <seconds>', 'time until the invoice expires', parsePositiveInteger, 3600)
    .action(async (alias: string, sats: string, options: Options & { expiry: number }) =>
      printAnswer(options, await callOperator('POST', '/sim/invoice', { alias, sats, expirySeconds: options.expiry })),
    )
  addCommand(sim, 'invoice-status', "show the state of a node's invoice", `sim invoice-status spare ${'0a'.repeat(32)}`)
    .argument('<alias>', 'the node that made it')
    .argument('<hash>', 'the payment hash')
    .action(async (alias: string, hash: string, options: Options) =>
      printAnswer(options, await callOperator('GET', `/sim/invoices/${encodePathSegment(alias)}/${encodePathSegment(hash)}`)),
    )
}

function addBlockCommands(sim: Command, { callOperator, ...rest }: CommandContext): void {
  const printAnswer = (options: Options, answer: Json): void =>
    printResult({ callOperator, ...rest }, options, answer, formatJson)
  addCommand(sim, 'mine', 'mine blocks now', 'sim mine 6')
    .argument('<n>', 'number of blocks', parsePositiveInteger)
    .action(async (count: number, options: Options) =>
      printAnswer(options, await callOperator('POST', '/sim/mine', { blocks: count })),
    )
  addCommand(sim, 'reorg', 'replace the newest blocks with a longer branch', 'sim reorg 2')
    .argument('<depth>', 'number of replaced blocks', parsePositiveInteger)
    .action(async (depth: number, options: Options) => printAnswer(options, await callOperator('POST', '/sim/reorg', { depth })))
}
