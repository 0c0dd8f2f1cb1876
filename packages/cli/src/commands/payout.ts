import { proveDecision } from '@penstock/config/decision-proof.ts'
import { proveRefund } from '@penstock/config/refund-proof.ts'
import type { Command } from 'commander'
import { isObject, type Json, getMember, filterObjects } from '../json.ts'
import { addCommand, printResult, encodePathSegment, type CommandContext, parsePositiveInteger } from '../command-context.ts'
import { formatFields, formatSection, formatTable } from '../text-format.ts'

type PayoutOptions = { readonly json?: boolean; readonly reason?: string; readonly by?: string; readonly to?: string }
type ListOptions = { readonly json?: boolean; readonly limit?: number; readonly after?: number }

const SAMPLE_ORDER_ID = '019aa0c2-7d1e-7b2c-9f41-3f6f1f0f7a55'

/** Adds the commands that list and show payouts, and the commands by which an operator acts on the payout of one order. */
export function addPayoutCommands(program: Command, context: CommandContext): void {
  const payout = program.command('payout').description('list payouts with the reasons for their delays, and act on them')
  addQueries(payout, context)
  addCommand(payout, 'retry', 'retry a payout now', `payout retry ${SAMPLE_ORDER_ID} --reason "the channel is back"`)
    .argument('<order>', "the order's id")
    .requiredOption('--reason <text>', 'the reason, which the facts record')
    .option('--by <name>', 'the name of the operator who decides', 'operator')
    .action(async (id: string, { json, by, reason }: PayoutOptions) =>
      printResult(
        context,
        { ...(json && { json }) },
        await context.callOperator('POST', `/payouts/${encodePathSegment(id)}/retry`, { by, reason }),
        createResultFormatter('a retry is requested'),
      ),
    )
  addDecision(payout, context)
  for (const [name, description] of [
    ['replace', 'pay the seller with another invoice of its node'],
    ['refund', 'pay the amount that is owed to the buyer, with an invoice of the buyer; needs the decision key'],
  ] as const)
    addCommand(payout, name, description, `payout ${name} ${SAMPLE_ORDER_ID} lnbc1...`)
      .argument('<order>', "the order's id")
      .argument('<invoice>', 'the BOLT 11 invoice')
      .action(async (id: string, request: string, options: PayoutOptions) =>
        printResult(
          context,
          options,
          await context.callOperator('POST', `/payouts/${encodePathSegment(id)}/${name}`, {
            request,
            ...(name === 'refund' && {
              proof: proveRefund(context.readDecisionKey(), { orderId: id.toLowerCase(), request }),
            }),
          }),
          createResultFormatter('the invoice is submitted'),
        ),
      )
}

function addDecision(payout: Command, context: CommandContext): void {
  addCommand(
    payout,
    'decide',
    'decide who gets a payout at the end of its withholding, or confirm an operator loss',
    `payout decide ${SAMPLE_ORDER_ID} --to seller --reason "it is announced"`,
  )
    .argument('<order>', "the order's id")
    .requiredOption('--to <seller|buyer|nobody>', 'who gets the amount; nobody only if the buyer already has its payment back')
    .requiredOption('--reason <text>', 'the reason, which the facts record')
    .option('--by <name>', 'the name of the operator who decides', 'operator')
    .action(async (id: string, { json, to, by, reason }: PayoutOptions) =>
      printResult(
        context,
        { ...(json && { json }) },
        await context.callOperator('POST', `/payouts/${encodePathSegment(id)}/decide`, {
          to,
          by,
          reason,
          proof: proveDecision(context.readDecisionKey(), {
            orderId: id.toLowerCase(),
            to: to ?? '',
            by: by ?? '',
            reason: reason ?? '',
          }),
        }),
        createResultFormatter(to === 'nobody' ? 'nobody is paid' : `decided for the ${to}`),
      ),
    )
  addCommand(
    payout,
    'key',
    'print the decision key of a keyring, for PENSTOCK_DECISION_KEY on the machine of an operator',
    'payout key',
  ).action((options: PayoutOptions) => {
    const key = context.readDecisionKey()
    printResult(context, options, { decision_key: key }, () => key)
  })
}

function addQueries(payout: Command, context: CommandContext): void {
  addCommand(payout, 'list', 'list open payouts, oldest first, with the reasons for their delays', 'payout list')
    .option('--limit <count>', 'maximum number of payouts, up to 500 (default: 50)', parsePositiveInteger)
    .option('--after <count>', 'number of payouts to skip', parsePositiveInteger)
    .action(async ({ json, limit, after }: ListOptions) => {
      const page = new URLSearchParams({ ...(limit && { limit: `${limit}` }), ...(after && { offset: `${after}` }) }).toString()
      printResult(
        context,
        { ...(json && { json }) },
        await context.callOperator('GET', `/payouts${page && `?${page}`}`),
        formatPayouts,
      )
    })
  addCommand(payout, 'show', 'show the payout of an order with its withholding causes', `payout show ${SAMPLE_ORDER_ID}`)
    .argument('<order>', "the order's id")
    .action(async (id: string, options: PayoutOptions) =>
      printResult(context, options, await context.callOperator('GET', `/orders/${encodePathSegment(id)}`), formatPayout),
    )
}

function formatPayouts(answer: Json): string {
  const payouts = filterObjects(getMember(answer, 'payouts'))
  const total = getMember(answer, 'total')
  const rows = payouts.map(({ withheld = null, reason = null, ...payout }) => ({
    ...payout,
    withheld: filterObjects(withheld)
      .map((one) => `${toText(getMember(one, 'cause'))} until ${JSON.stringify(getMember(one, 'until_height'))}`)
      .join(', '),
    reason,
  }))
  const listed = formatTable(rows, 'No payout is open.')
  return typeof total === 'number' && total > rows.length ? `${listed}\n${rows.length} of ${total}` : listed
}

function formatPayout(order: Json): string {
  const payout = getMember(order, 'payout')
  return [
    `Payout of order ${toText(getMember(order, 'id'))}`,
    formatFields(isObject(payout) ? payout : {}),
    formatSection('Withheld by', formatTable(filterObjects(getMember(order, 'payout_withheld')), 'No cause withholds it.')),
  ].join('\n\n')
}

const createResultFormatter =
  (result: string) =>
  (answer: Json): string =>
    `The payout of order ${toText(getMember(answer, 'order'))}: ${result}.`

const toText = (value: Json): string => (typeof value === 'string' ? value : '')
