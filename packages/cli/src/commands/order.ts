import type { Command } from 'commander'
import { formatOrder } from '../order-text.ts'
import { addCommand, printResult, encodePathSegment, type CommandContext } from '../command-context.ts'

type CloseOptions = { readonly json?: boolean; readonly by?: string; readonly reason?: string; readonly bearLoss?: boolean }

export function addOrderCommands(program: Command, context: CommandContext): void {
  const order = program.command('order').description('show and close any order')
  addCommand(
    order,
    'show',
    'show an order: statuses, attempts, hold, payout, ledger and timeline',
    'order show 019aa0c2-7d1e-7b2c-9f41-3f6f1f0f7a55',
  )
    .argument('<id>', "the order's id, which is its transaction_id")
    .action(async (id: string, options: { json?: boolean }) =>
      printResult(context, options, await context.callOperator('GET', `/orders/${encodePathSegment(id)}`), formatOrder),
    )
  addCommand(
    order,
    'close',
    'close an order and return its payment to the buyer',
    'order close 019aa0c2-7d1e-7b2c-9f41-3f6f1f0f7a55 --reason "the buyer asked for it"',
  )
    .argument('<id>', "the order's id")
    .requiredOption('--reason <text>', 'the reason, which the facts record')
    .option('--by <name>', 'the name of the operator who decides', 'operator')
    .option('--bear-loss', 'close the order even if it has an outpoint; if its channel is proven, you pay the seller')
    .action(async (id: string, { json, by, reason, bearLoss }: CloseOptions) =>
      printResult(
        context,
        { ...(json && { json }) },
        await context.callOperator('POST', `/orders/${encodePathSegment(id)}/close`, {
          by,
          reason,
          ...(bearLoss && { bear_loss: true }),
        }),
        () => `Order ${id} is being closed.`,
      ),
    )
}
