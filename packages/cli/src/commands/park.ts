import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { type Json, getMember, filterObjects } from '../json.ts'
import { addCommand, printResult, type CommandContext } from '../command-context.ts'
import { formatTable } from '../text-format.ts'

type ReplayOptions = { readonly json?: boolean; readonly all?: boolean }

export function addParkCommands(program: Command, context: CommandContext): void {
  const park = program.command('park').description('list and replay parked messages, which could not be handled')
  addCommand(park, 'list', 'list the parked keys with their reasons', 'park list').action(async (options: { json?: boolean }) =>
    printResult(context, options, await context.callOperator('GET', '/parked'), (parked) =>
      formatTable(filterObjects(parked), 'No message is parked.'),
    ),
  )
  addCommand(
    park,
    'replay',
    'retry parked messages, in order',
    'park replay order order.commands.quote 019aa0c2-7d1e-7b2c-9f41-3f6f1f0f7a55',
  )
    .argument('[group]', 'as "park list" prints it')
    .argument('[topic]', 'as "park list" prints it')
    .argument('[key]', 'as "park list" prints it')
    .option('--all', 'retry the messages of every parked key')
    .action(async (group: string | undefined, topic: string | undefined, key: string | undefined, options: ReplayOptions) =>
      printResult(
        context,
        options,
        await context.callOperator('POST', '/parked/replay', toReplayRequest(group, topic, key, options)),
        formatReplayResult,
      ),
    )
}

function toReplayRequest(
  group: string | undefined,
  topic: string | undefined,
  key: string | undefined,
  { all }: ReplayOptions,
): object {
  if (all === true && group === undefined) return { all: true }
  if (all !== true && group !== undefined && topic !== undefined && key !== undefined) return { group, topic, key }
  throw new Failure('Give group, topic and key of an entry of "penstock park list", or --all.')
}

const formatReplayResult = (answer: Json): string => `Replayed messages: ${JSON.stringify(getMember(answer, 'replayed'))}`
