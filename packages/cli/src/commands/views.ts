import type { Command } from 'commander'
import { member, objectsOf } from '../json.ts'
import { leaf, print, type Shell } from '../shell.ts'
import { table } from '../text.ts'

export function viewsCommands(program: Command, shell: Shell): void {
  const views = program.command('views').description('read models, which are made of the facts')
  leaf(views, 'rebuild', 'make read models anew beside those in use, and put them in their place', 'views rebuild orders')
    .argument('[names...]', 'orders, market, accounts; all of them where none is named')
    .action(async (names: string[], options: { json?: boolean }) =>
      print(shell, options, await shell.ask('POST', '/views/rebuild', { projections: names }), (answer) =>
        table(objectsOf(member(answer, 'rebuilt'))),
      ),
    )
}
