import { type Command, Option } from 'commander'
import { transactionStatuses } from '@penstock/contracts/payments/lifecycle.ts'
import { isObject, type Json, getMember, filterObjects } from '../json.ts'
import { addCommand, printResult, encodePathSegment, type CommandContext } from '../command-context.ts'
import { formatFields, formatSection, formatTable } from '../text-format.ts'

type ListOptions = {
  readonly json?: boolean
  readonly environment?: string
  readonly wallet?: string
  readonly status?: string
}

/** Adds the commands that list and show the transactions of the payments API. */
export function addPaymentCommands(program: Command, context: CommandContext): void {
  const payment = program.command('payment').description('list and show the transactions of the payments API')
  addCommand(payment, 'list', 'list the newest transactions, at most 50', 'payment list --status pending')
    .option('--environment <id>', 'only transactions of this environment')
    .option('--wallet <id>', 'only transactions of this wallet')
    .addOption(
      new Option('--status <status>', 'only transactions with this status').choices(
        transactionStatuses.map((status) => status.toLowerCase()),
      ),
    )
    .action(async ({ json, environment, wallet, status }: ListOptions) => {
      const filter = new URLSearchParams({
        ...(environment !== undefined && { environment }),
        ...(wallet !== undefined && { wallet }),
        ...(status !== undefined && { status }),
      }).toString()
      printResult(
        context,
        { ...(json && { json }) },
        await context.callOperator('GET', `/payments${filter && `?${filter}`}`),
        formatTransactions,
      )
    })
  addCommand(
    payment,
    'show',
    'show a transaction: status, amounts, owners and facts, without the texts of its caller',
    'payment show 5f0c9d1e-3a64-5b1c-8e0f-2d7c1b9a4e63',
  )
    .argument('<id>', "the transaction's id")
    .action(async (id: string, options: { json?: boolean }) =>
      printResult(context, options, await context.callOperator('GET', `/payments/${encodePathSegment(id)}`), formatTransaction),
    )
}

function formatTransactions(answer: Json): string {
  const rows = filterObjects(getMember(answer, 'transactions'))
  const total = getMember(answer, 'total')
  const listed = formatTable(rows, 'There is no transaction.')
  return typeof total === 'number' && total > rows.length ? `${listed}\n${rows.length} of ${total}` : listed
}

function formatTransaction(answer: Json): string {
  const { facts = null, ...fields } = isObject(answer) ? answer : {}
  return [formatFields(fields), formatSection('Facts', formatTable(filterObjects(facts)))].join('\n\n')
}
