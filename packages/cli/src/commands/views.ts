import type { Command } from 'commander'
import { getMember, filterObjects } from '../json.ts'
import { addCommand, printResult, type CommandContext } from '../command-context.ts'
import { formatTable } from '../text-format.ts'

export function addViewsCommands(program: Command, context: CommandContext): void {
  const views = program.command('views').description('manage read models, which projections derive from the facts')
  addCommand(views, 'rebuild', 'rebuild read models in shadow tables, then swap the tables', 'views rebuild orders')
    .argument('[names...]', 'orders, market, accounts, payments; all read models if none is given')
    .action(async (names: string[], options: { json?: boolean }) =>
      printResult(context, options, await context.callOperator('POST', '/views/rebuild', { projections: names }), (answer) =>
        formatTable(filterObjects(getMember(answer, 'rebuilt'))),
      ),
    )
}
