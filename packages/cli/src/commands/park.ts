import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { type Json, member, objectsOf } from '../json.ts'
import { leaf, print, type Shell } from '../shell.ts'
import { table } from '../text.ts'

type Replay = { readonly json?: boolean; readonly all?: boolean }

export function parkCommands(program: Command, shell: Shell): void {
  const park = program.command('park').description('messages that could not be handled and wait for a fix')
  leaf(park, 'list', 'the parked keys, each with the reason', 'park list').action(async (options: { json?: boolean }) =>
    print(shell, options, await shell.ask('GET', '/parked'), (parked) => table(objectsOf(parked), 'Nothing is parked.')),
  )
  leaf(
    park,
    'replay',
    'hand parked messages to their handler again, in order',
    'park replay order order.commands 019aa0c2-7d1e-7b2c-9f41-3f6f1f0f7a55',
  )
    .argument('[group]', 'as in park list')
    .argument('[topic]', 'as in park list')
    .argument('[key]', 'as in park list')
    .option('--all', 'every parked key')
    .action(async (group: string | undefined, topic: string | undefined, key: string | undefined, options: Replay) =>
      print(shell, options, await shell.ask('POST', '/parked/replay', wanted(group, topic, key, options)), replayText),
    )
}

function wanted(group: string | undefined, topic: string | undefined, key: string | undefined, { all }: Replay): object {
  if (all === true && group === undefined) return { all: true }
  if (all !== true && group !== undefined && topic !== undefined && key !== undefined) return { group, topic, key }
  throw new Failure('Say which key to replay, as group, topic and key of "penstock park list", or --all.')
}

const replayText = (answer: Json): string => `Messages put back: ${JSON.stringify(member(answer, 'replayed'))}`
