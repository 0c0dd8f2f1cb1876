import type { Command } from 'commander'
import { isObject, type Json, getMember, filterObjects } from '../json.ts'
import { addCommand, printResult, encodePathSegment, type CommandContext } from '../command-context.ts'
import { formatFields, formatJson, formatSection, formatTable } from '../text-format.ts'

type ListOptions = {
  readonly json?: boolean
  readonly environment: string
  readonly endpoint?: string
  readonly transaction?: string
  readonly type?: string
}

/** Adds the commands that list and show webhook events, and deliver them again. */
export function addWebhookCommands(program: Command, context: CommandContext): void {
  const webhook = program.command('webhook').description('list and show webhook events, and deliver them again')
  addCommand(webhook, 'list', 'list the newest webhook events of an environment, at most 50', 'webhook list --environment <id>')
    .requiredOption('--environment <id>', 'the environment of the events')
    .option('--endpoint <id>', 'only events for this endpoint')
    .option('--transaction <id>', 'only events of this transaction')
    .option('--type <type>', 'only events of this type, such as payment.completed')
    .action(async ({ json, environment, endpoint, transaction, type }: ListOptions) => {
      const filter = new URLSearchParams({
        environment,
        ...(endpoint !== undefined && { endpoint }),
        ...(transaction !== undefined && { transaction }),
        ...(type !== undefined && { type }),
      }).toString()
      printResult(context, { ...(json && { json }) }, await context.callOperator('GET', `/webhooks?${filter}`), formatEvents)
    })
  addCommand(
    webhook,
    'show',
    'show a webhook event and all attempts to deliver it, without its body',
    'webhook show 0190a6c2-5b1c-7e0f-8d7c-1b9a4e635f0c',
  )
    .argument('<id>', "the event's id")
    .action(async (id: string, options: { json?: boolean }) =>
      printResult(context, options, await context.callOperator('GET', `/webhooks/${encodePathSegment(id)}`), formatEvent),
    )
  addCommand(
    webhook,
    'redeliver',
    'deliver a webhook event to an endpoint once more',
    'webhook redeliver 0190a6c2-5b1c-7e0f-8d7c-1b9a4e635f0c --endpoint <id>',
  )
    .argument('<id>', "the event's id")
    .requiredOption('--endpoint <id>', 'the endpoint that gets the event')
    .action(async (id: string, { json, endpoint }: { json?: boolean; endpoint: string }) =>
      printResult(
        context,
        { ...(json && { json }) },
        await context.callOperator('POST', `/webhooks/${encodePathSegment(id)}/redeliver`, { endpoint }),
        formatJson,
      ),
    )
}

function formatEvents(answer: Json): string {
  const rows = filterObjects(getMember(answer, 'events'))
  const total = getMember(answer, 'total')
  const listed = formatTable(rows, 'There is no webhook event.')
  return typeof total === 'number' && total > rows.length ? `${listed}\n${rows.length} of ${total}` : listed
}

function formatEvent(answer: Json): string {
  const { attempts = null, ...fields } = isObject(answer) ? answer : {}
  return [formatFields(fields), formatSection('Attempts', formatTable(filterObjects(attempts)))].join('\n\n')
}
