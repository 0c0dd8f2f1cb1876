import { Argument, type Command } from 'commander'
import { type Json, objectsOf } from '../json.ts'
import { amountSat, leaf, print, segment, type Shell, wholeNumber } from '../shell.ts'
import { table, textOf } from '../text.ts'

type Options = { readonly json?: boolean }

const BEHAVIOURS = ['ok', 'slow', 'silent', 'never-open', 'wrong-size', 'wrong-peer', 'vanish']

export function simCommands(program: Command, shell: Shell): void {
  const sim = program.command('sim').description('the simulated Lightning network')
  payments(sim, shell)
  nodes(sim, shell)
  blocks(sim, shell)
}

function nodes(sim: Command, { ask, ...rest }: Shell): void {
  const show = (options: Options, answer: Json, toText = textOf): void => print({ ask, ...rest }, options, answer, toText)
  leaf(sim, 'nodes', 'the nodes, with their role and confirmed coins', 'sim nodes').action(async (options: Options) =>
    // The address has the key in it; a second column of 66 digits helps nobody.
    show(options, await ask('GET', '/sim/nodes'), (list) => table(objectsOf(list).map(({ pubkey: _, ...node }) => node))),
  )
  leaf(sim, 'channels', "a node's channels, as that node sees them", 'sim channels buyer')
    .argument('<alias>', 'as in sim nodes')
    .action(async (alias: string, options: Options) =>
      show(options, await ask('GET', `/sim/channels/${segment(alias)}`), (list) => table(objectsOf(list))),
    )
  leaf(sim, 'open', 'open a channel and publish its funding at once', 'sim open spare 02ab…ef 1000000 --private')
    .argument('<alias>', 'the node that opens')
    .argument('<pubkey>', 'its peer')
    .argument('<sats>', 'the capacity', amountSat)
    .option('--private', 'do not announce it')
    .option('--taproot', 'as a taproot channel, which has to be private')
    .action(async (alias: string, pubkey: string, sats: string, options: Options & { private?: boolean; taproot?: boolean }) => {
      const kind = { private: options.private === true, ...(options.taproot && { taproot: true }) }
      return show(options, await ask('POST', '/sim/open', { alias, pubkey, sats, ...kind }))
    })
  leaf(sim, 'behave', "change how a seller's node behaves, until it is changed again", 'sim behave seller-ada never-open')
    .argument('<alias>', 'as in sim nodes')
    .addArgument(new Argument('<how>', 'the behaviour').choices(BEHAVIOURS))
    .action(async (alias: string, how: string, options: Options) =>
      show(options, await ask('POST', '/sim/behave', { alias, how })),
    )
  leaf(sim, 'sign', "sign a text with the node's key, as lnd's signmessage does", 'sim sign spare "some text"')
    .argument('<alias>', 'as in sim nodes')
    .argument('<text>', 'what is signed')
    .action(async (alias: string, text: string, options: Options) =>
      show(options, await ask('POST', '/sim/sign', { alias, text })),
    )
}

function payments(sim: Command, { ask, ...rest }: Shell): void {
  const show = (options: Options, answer: Json): void => print({ ask, ...rest }, options, answer, textOf)
  leaf(sim, 'pay', "pay an invoice from the buyer's node; returns once it is held, settled or failed", 'sim pay lnbcrt1…')
    .argument('<invoice>', 'BOLT 11')
    .option('--from <alias>', 'the node that pays')
    .action(async (invoice: string, options: Options & { from?: string }) =>
      show(options, await ask('POST', '/sim/pay', { invoice, ...(options.from !== undefined && { from: options.from }) })),
    )
  leaf(sim, 'payment', 'how a payment stands, and whom it pays', `sim payment ${'0a'.repeat(32)}`)
    .argument('<hash>', 'the payment hash')
    .action(async (hash: string, options: Options) => show(options, await ask('GET', `/sim/payments/${segment(hash)}`)))
  leaf(sim, 'invoice', 'make an ordinary invoice', 'sim invoice spare 2500 --expiry 180000')
    .argument('<alias>', 'the node that is to be paid')
    .argument('<sats>', 'the amount', amountSat)
    .option('--expiry <seconds>', 'how long it may be paid', wholeNumber, 3600)
    .action(async (alias: string, sats: string, options: Options & { expiry: number }) =>
      show(options, await ask('POST', '/sim/invoice', { alias, sats, expirySeconds: options.expiry })),
    )
  leaf(sim, 'invoice-status', 'how an invoice of a node stands', `sim invoice-status spare ${'0a'.repeat(32)}`)
    .argument('<alias>', 'the node that made it')
    .argument('<hash>', 'the payment hash')
    .action(async (alias: string, hash: string, options: Options) =>
      show(options, await ask('GET', `/sim/invoices/${segment(alias)}/${segment(hash)}`)),
    )
}

function blocks(sim: Command, { ask, ...rest }: Shell): void {
  const show = (options: Options, answer: Json): void => print({ ask, ...rest }, options, answer, textOf)
  leaf(sim, 'mine', 'make blocks now', 'sim mine 6')
    .argument('<n>', 'how many', wholeNumber)
    .action(async (count: number, options: Options) => show(options, await ask('POST', '/sim/mine', { blocks: count })))
  leaf(sim, 'reorg', 'replace the newest blocks by a longer branch', 'sim reorg 2')
    .argument('<depth>', 'how many are replaced', wholeNumber)
    .action(async (depth: number, options: Options) => show(options, await ask('POST', '/sim/reorg', { depth })))
}
