import type { Command } from 'commander'
import { isObject, type Json, member, objectsOf } from '../json.ts'
import { leaf, print, segment, type Shell, wholeNumber } from '../shell.ts'
import { fields, section, table } from '../text.ts'

type Options = { readonly json?: boolean; readonly reason?: string; readonly by?: string; readonly to?: string }
type Listing = { readonly json?: boolean; readonly limit?: number; readonly after?: number }

const ORDER = '019aa0c2-7d1e-7b2c-9f41-3f6f1f0f7a55'

/** Which payouts are open, and what an operator can do about the payout of one order. */
export function payoutCommands(program: Command, shell: Shell): void {
  const payout = program.command('payout').description('payouts: why one waits, and what an operator can do about it')
  leaf(payout, 'list', 'payouts that are not made yet, the oldest first, with what they wait for', 'payout list')
    .option('--limit <count>', 'how many at most, up to 500; 50 where nothing is said', wholeNumber)
    .option('--after <count>', 'how many to pass over', wholeNumber)
    .action(async ({ json, limit, after }: Listing) => {
      const page = new URLSearchParams({ ...(limit && { limit: `${limit}` }), ...(after && { offset: `${after}` }) }).toString()
      print(shell, { ...(json && { json }) }, await shell.ask('GET', `/payouts${page && `?${page}`}`), payoutsText)
    })
  leaf(payout, 'show', 'the payout of an order, with what withholds it', `payout show ${ORDER}`)
    .argument('<order>', "the order's id")
    .action(async (id: string, options: Options) =>
      print(shell, options, await shell.ask('GET', `/orders/${segment(id)}`), payoutText),
    )
  leaf(payout, 'retry', 'try a payout again now', `payout retry ${ORDER} --reason "the channel is back"`)
    .argument('<order>', "the order's id")
    .requiredOption('--reason <text>', 'why; it stands in the facts')
    .option('--by <name>', 'who decides', 'operator')
    .action(async (id: string, { json, by, reason }: Options) =>
      print(
        shell,
        { ...(json && { json }) },
        await shell.ask('POST', `/payouts/${segment(id)}/retry`, { by, reason }),
        said('tried again'),
      ),
    )
  leaf(
    payout,
    'decide',
    'decide who gets the amount at the end of a wait, or confirm a loss',
    `payout decide ${ORDER} --to seller --reason "it is announced"`,
  )
    .argument('<order>', "the order's id")
    .requiredOption('--to <seller|buyer|nobody>', 'who gets it; nobody only where the buyer has its payment back')
    .requiredOption('--reason <text>', 'why; it stands in the facts')
    .option('--by <name>', 'who decides', 'operator')
    .action(async (id: string, { json, to, by, reason }: Options) =>
      print(
        shell,
        { ...(json && { json }) },
        await shell.ask('POST', `/payouts/${segment(id)}/decide`, { to, by, reason }),
        said(to === 'nobody' ? 'nobody is paid' : `decided for the ${to}`),
      ),
    )
  for (const [name, about] of [
    ['replace', 'have the seller paid to another invoice of its node'],
    ['refund', 'have the buyer paid what it is owed, to its invoice'],
  ] as const)
    leaf(payout, name, about, `payout ${name} ${ORDER} lnbc1...`)
      .argument('<order>', "the order's id")
      .argument('<invoice>', 'BOLT 11')
      .action(async (id: string, request: string, options: Options) =>
        print(shell, options, await shell.ask('POST', `/payouts/${segment(id)}/${name}`, { request }), said('has the invoice')),
      )
}

function payoutsText(answer: Json): string {
  const payouts = objectsOf(member(answer, 'payouts'))
  const total = member(answer, 'total')
  const rows = payouts.map(({ withheld = null, reason = null, ...payout }) => ({
    ...payout,
    withheld: objectsOf(withheld)
      .map((one) => `${text(member(one, 'cause'))} until ${JSON.stringify(member(one, 'until_height'))}`)
      .join(', '),
    reason,
  }))
  const listed = table(rows, 'No payout is open.')
  return typeof total === 'number' && total > rows.length ? `${listed}\n${rows.length} of ${total}` : listed
}

function payoutText(order: Json): string {
  const payout = member(order, 'payout')
  return [
    `Payout of order ${text(member(order, 'id'))}`,
    fields(isObject(payout) ? payout : {}),
    section('Withheld by', table(objectsOf(member(order, 'payout_withheld')), 'Nothing withholds it.')),
  ].join('\n\n')
}

const said =
  (what: string) =>
  (answer: Json): string =>
    `The payout of order ${text(member(answer, 'order'))}: ${what}.`

const text = (value: Json): string => (typeof value === 'string' ? value : '')
