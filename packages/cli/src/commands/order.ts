import type { Command } from 'commander'
import { orderText } from '../order-text.ts'
import { leaf, print, segment, type Shell } from '../shell.ts'

type Close = { readonly json?: boolean; readonly by?: string; readonly reason?: string; readonly bearLoss?: boolean }

export function orderCommands(program: Command, shell: Shell): void {
  const order = program.command('order').description('orders of anybody')
  leaf(
    order,
    'show',
    'one order: statuses, attempts, hold, payout, ledger and timeline',
    'order show 019aa0c2-7d1e-7b2c-9f41-3f6f1f0f7a55',
  )
    .argument('<id>', "the order's id, which is its transaction_id")
    .action(async (id: string, options: { json?: boolean }) =>
      print(shell, options, await shell.ask('GET', `/orders/${segment(id)}`), orderText),
    )
  leaf(
    order,
    'close',
    'close an order, and give its payment back',
    'order close 019aa0c2-7d1e-7b2c-9f41-3f6f1f0f7a55 --reason "the buyer asked for it"',
  )
    .argument('<id>', "the order's id")
    .requiredOption('--reason <text>', 'why; it stands in the facts')
    .option('--by <name>', 'who decides', 'operator')
    .option('--bear-loss', 'close it although a channel was named: if it is proven, you pay its seller')
    .action(async (id: string, { json, by, reason, bearLoss }: Close) =>
      print(
        shell,
        { ...(json && { json }) },
        await shell.ask('POST', `/orders/${segment(id)}/close`, { by, reason, ...(bearLoss && { bear_loss: true }) }),
        () => `Order ${id} is being closed.`,
      ),
    )
}
